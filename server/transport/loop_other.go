//go:build !linux

package transport

import "net"

// loops are the event loops, of which this system has none: every connection has a goroutine.
type loops struct{}

func newLoops(*Transport) (*loops, error) { return &loops{}, nil }

func (*loops) start()          {}
func (*loops) time(bool)       {}
func (*loops) closeListeners() {}
func (*loops) drain()          {}
func (*loops) abort()          {}
func (*loops) wait()           {}

func (*loops) runningNs(int64) int64 { return 0 }

func (t *Transport) listenPlain(network, addr string, o ListenOptions) (net.Addr, error) {
	return t.listenStream(network, addr, o)
}
