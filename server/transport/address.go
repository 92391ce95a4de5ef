package transport

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// endpoints are the two ends of a connection, written only when someone asks for them.
type endpoints struct {
	remote, local netip.AddrPort
	path          string // of a Unix socket, else empty
}

func (e *endpoints) RemoteAddr() string { return e.format(e.remote) }
func (e *endpoints) LocalAddr() string  { return e.format(e.local) }
func (e *endpoints) Unix() bool         { return e.path != "" }
func (e *endpoints) Loopback() bool     { return e.path == "" && e.remote.Addr().Unmap().IsLoopback() }

func (e *endpoints) format(a netip.AddrPort) string {
	if e.path != "" {
		return e.path + ":0"
	}
	// inet_ntop, which Redis uses, knows no zones.
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port()).String()
}

// resolve turns "host:port" into the address to listen at; an empty host means every IPv4 address.
func resolve(addr string) (netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return netip.AddrPort{}, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("port %q: not a number from 0 to 65535", service)
	}
	if host == "" {
		return netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(port)), nil
	}
	ip, err := net.ResolveIPAddr("ip", host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	a, _ := netip.AddrFromSlice(ip.IP)
	return netip.AddrPortFrom(a.Unmap().WithZone(ip.Zone), uint16(port)), nil
}
