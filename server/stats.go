package server

import (
	"strings"
	"sync/atomic"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// slotStats are the counters of one slot; the gate makes their sum consistent.
type slotStats struct {
	commands []commandStat    // by command id
	errors   map[string]int64 // by the error's code

	inBytes, outBytes int64 // requests run and their replies
}

// commandStat is what INFO commandstats and latencystats tell about a command.
type commandStat struct {
	calls    int64
	ns       int64
	rejected int64 // refused before the handler ran
	failed   int64 // the handler answered with an error
	latency  *hdrhistogram.Histogram
}

// Latency histograms span a microsecond (in steps of nanoseconds) to a second with two significant digits, as
// Redis's do; they are made at a command's first call, since most commands are never called.
const (
	latencyMinNs  = 1
	latencyMaxNs  = 1_000_000_000
	latencyDigits = 2
)

func (st *commandStat) record(ns int64, failed, latency bool) {
	st.calls++
	st.ns += ns
	if failed {
		st.failed++
	}
	if !latency {
		return
	}
	if st.latency == nil {
		st.latency = hdrhistogram.New(latencyMinNs, latencyMaxNs, latencyDigits)
	}
	// The only error is a value out of range, which the clamp excludes.
	_ = st.latency.RecordValue(min(max(ns, latencyMinNs), latencyMaxNs))
}

// merged is the sum of two histograms, either of which may be nil. It changes neither, but may be one of them.
func merged(a, b *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	sum := hdrhistogram.New(latencyMinNs, latencyMaxNs, latencyDigits)
	sum.Merge(a)
	sum.Merge(b)
	return sum
}

// errorCodesMax bounds the distinct codes counted: scripts of later versions may invent any number of them.
const errorCodesMax = 128

func (st *slotStats) countError(text string) {
	code, _, _ := strings.Cut(text, " ")
	if _, counted := st.errors[code]; !counted && len(st.errors) >= errorCodesMax {
		code = "ERRORSTATS_OVERFLOW"
	}
	if st.errors == nil {
		st.errors = make(map[string]int64)
	}
	st.errors[code]++
}

// counters of the whole server that are no slot's.
type counters struct {
	connections            atomic.Int64 // accepted since start or CONFIG RESETSTAT
	rejectedConnections    atomic.Int64
	panics                 atomic.Int64
	queryBufferDisconnects atomic.Int64
	outputDisconnects      atomic.Int64
	evictedClients         atomic.Int64
	expireNs               atomic.Int64 // that the expiry cycle has worked
	expireCapped           atomic.Int64 // beats at which it did not come to the end
}
