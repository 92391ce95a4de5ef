package lua

import (
	"runtime"
	"runtime/metrics"

	lua "github.com/yuin/gopher-lua"
)

// BytesMax is what the values of a script may take, in bytes; beyond it the script gets the error "not enough memory". Until
// that is noticed it may have taken measureEvery more, and a table that grows is there twice for a moment.
const BytesMax = 256 << 20

// measureEvery is how much a script may allocate, by our reckoning, before the heap is measured.
const measureEvery = 32 << 20

const errMemory = "not enough memory"

// memory is what is known of the memory that a script takes.
type memory struct {
	bytesMax  int64 // BytesMax, but in tests
	every     int64 // measureEvery, but in tests
	spent     int64 // allocated by our reckoning since the script began
	measureAt int64 // when spent passes this the heap is measured
	heapBytes int64 // when it was measured for the first time
	sample    [1]metrics.Sample
}

func (m *memory) reset() { m.spent, m.measureAt, m.heapBytes = 0, m.every, -1 }

// heapNow is what lies on the Go heap, garbage that was not collected yet included.
func (m *memory) heapNow() int64 {
	m.sample[0].Name = "/memory/classes/heap/objects:bytes"
	metrics.Read(m.sample[:])
	return int64(m.sample[0].Value.Uint64())
}

// measure raises an error if the script would hold too much with more bytes that it asks for.
func (rt *Runtime) measure(L *lua.LState, more int64) {
	if !rt.fits(more) {
		L.Error(lua.LString(errMemory), 0)
	}
}

// fits measures the heap. A script is measured for the first time when it has allocated some 32 MiB, which most never do; what
// was there before is thus known roughly.
func (rt *Runtime) fits(more int64) bool {
	rt.measureAt = rt.spent + rt.every
	now := rt.heapNow()
	if rt.heapBytes < 0 {
		rt.heapBytes = now - min(now, rt.every/2)
	}
	if now+more-rt.heapBytes <= rt.bytesMax {
		return true
	}
	runtime.GC()
	return rt.heapNow()+more-rt.heapBytes <= rt.bytesMax
}

// charge is called before a script is given something of some length in bytes.
func (rt *Runtime) charge(L *lua.LState, bytes int) {
	rt.heed(L)
	if rt.spend(bytes) {
		rt.measure(L, int64(bytes))
	}
}

// spend reckons with some bytes more, and reports whether it is time to measure.
func (rt *Runtime) spend(bytes int) bool {
	rt.spent += int64(bytes) + 32
	return rt.spent > rt.measureAt || int64(bytes) > rt.every
}

// heed raises the error of a script that was killed. Whatever does the work of many instructions in one calls it again and again.
func (rt *Runtime) heed(L *lua.LState) {
	if ended := rt.ended.Load(); ended != nil {
		L.Error(errorTable(L, *ended), 0)
	}
}

// valueBytes is the size of a value in an array.
const valueBytes = 16

// gapMin is the shortest gap in an array that is charged for.
const gapMin = 64

// chargeGap charges for an array that must grow to have an element n: gopher-lua fills what is before it, and copies the array
// while it grows.
func (rt *Runtime) chargeGap(L *lua.LState, t *lua.LTable, n lua.LNumber) {
	if n > gapMin && n < lua.LNumber(lua.MaxArrayIndex) && t.RawGetInt(int(n)-1) == lua.LNil && n == lua.LNumber(int(n)) {
		if gap := int(n) - t.MaxN(); gap > gapMin {
			rt.charge(L, 3*valueBytes*int(n))
		}
	}
}

// heed finds the runtime of a state that a library function runs in.
func heed(L *lua.LState) {
	if w := watchOf(L); w != nil {
		w.rt.heed(L)
	}
}

// charge finds the runtime of a state that a library function runs in.
func charge(L *lua.LState, bytes int) {
	if w := watchOf(L); w != nil {
		w.rt.charge(L, bytes)
	}
}
