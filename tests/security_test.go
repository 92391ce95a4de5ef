package tests

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"maps"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRequirePass: without the password nothing can be done but give it.
func TestRequirePass(t *testing.T) {
	s := startServer(t, "--requirepass", "secret", "--enable-debug-command", "yes")
	c := s.dial()
	c.ok("AUTH", "secret")
	exempt := []string{"auth", "hello", "quit", "reset"}
	for _, name := range c.value("COMMAND", "LIST").texts() {
		if strings.Contains(name, "|") || slices.Contains(exempt, name) {
			continue
		}
		info, ok := askCommandInfo(c, name)
		if !ok {
			t.Errorf("no COMMAND INFO of %s", name)
			continue
		}
		want := "-NOAUTH Authentication required.\r\n"
		if name == "exec" {
			want = "-EXECABORT Transaction discarded because of: NOAUTH Authentication required.\r\n"
		}
		stranger := s.dial()
		if got := stranger.do(smallestCall(name, info)...); got != want {
			t.Errorf("%s without the password: %q", name, got)
		}
		stranger.nc.Close()
	}
	t.Run("changed at run time", func(t *testing.T) {
		early := s.dial()
		early.ok("AUTH", "secret")
		early.ok("CONFIG", "SET", "requirepass", "other")
		early.want("+PONG\r\n", "PING")
		late := s.dial()
		late.want("-WRONGPASS invalid username-password pair or user is disabled.\r\n", "AUTH", "secret")
		late.ok("AUTH", "default", "other")
		late.ok("CONFIG", "SET", "requirepass", "")
		s.dial().want("+PONG\r\n", "PING")
	})
	t.Run("set at run time", func(t *testing.T) {
		before := s.dial()
		before.ok("CONFIG", "SET", "requirepass", "third")
		s.dial().want("-NOAUTH Authentication required.\r\n", "PING")
	})
}

// smallestCall makes a call with as few arguments as the arity wants.
func smallestCall(name string, info commandInfo) []string {
	args, arity := []string{name}, info.arity
	if subs := slices.Sorted(maps.Keys(info.subcommands)); len(subs) > 0 {
		_, word, _ := strings.Cut(subs[0], "|")
		args, arity = append(args, word), info.subcommands[subs[0]].arity
	}
	n, _ := strconv.Atoi(strings.TrimPrefix(arity, "-"))
	for len(args) < n {
		args = append(args, "x")
	}
	return args
}

// outsideAddress is an address of this machine that is not loopback.
func outsideAddress(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Skip(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has only loopback addresses")
	return ""
}

// TestProtectedMode: a server that listens everywhere and has no password talks
// only to this machine.
func TestProtectedMode(t *testing.T) {
	host := outsideAddress(t)
	check := func(t *testing.T, s *server) {
		_, port, _ := net.SplitHostPort(s.addr)
		outside := net.JoinHostPort(host, port)
		dialTo(t, "tcp", s.addr).want("+PONG\r\n", "PING")
		got, err := dialTo(t, "tcp", outside).readAll()
		if err != nil || !strings.HasPrefix(got, "-DENIED ") || !strings.HasSuffix(got, "\r\n") || strings.Count(got, "\n") != 1 {
			t.Errorf("from outside: %q (%v)", got, err)
		}
		inside := s.dial()
		inside.ok("CONFIG", "SET", "protected-mode", "no")
		dialTo(t, "tcp", outside).want("+PONG\r\n", "PING")
		inside.ok("CONFIG", "SET", "protected-mode", "yes")
		if got, _ := dialTo(t, "tcp", outside).readAll(); !strings.HasPrefix(got, "-DENIED ") {
			t.Errorf("switched on again: %q", got)
		}
		inside.ok("CONFIG", "SET", "requirepass", "secret")
		c := dialTo(t, "tcp", outside)
		c.want("-NOAUTH Authentication required.\r\n", "PING")
		c.ok("AUTH", "secret")
	}
	t.Run("ours", func(t *testing.T) { check(t, ownServer(t, "--bind", "*")) })
	t.Run("the peer", func(t *testing.T) { check(t, startPeer(t, "--bind", "*")) })
}

// TestDebugOnlyForLocals: enable-debug-command local.
func TestDebugOnlyForLocals(t *testing.T) {
	host := outsideAddress(t)
	s := ownServer(t, "--bind", "*", "--protected-mode", "no", "--enable-debug-command", "local")
	_, port, _ := net.SplitHostPort(s.addr)
	s.dial().ok("DEBUG", "SLEEP", "0")
	if got := dialTo(t, "tcp", net.JoinHostPort(host, port)).do("DEBUG", "SLEEP", "0"); !strings.HasPrefix(got, "-ERR DEBUG command not allowed.") {
		t.Errorf("DEBUG from outside: %q", got)
	}
	if got := s.dial().do("CONFIG", "SET", "enable-debug-command", "yes"); !strings.HasSuffix(got, "can't set immutable config\r\n") {
		t.Errorf("CONFIG SET enable-debug-command: %q", got)
	}
}

// authority signs the certificates of a test.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir(), pool: x509.NewCertPool()}
	a.key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	a.cert, _ = x509.ParseCertificate(der)
	a.pool.AddCert(a.cert)
	a.write("ca.pem", "CERTIFICATE", der)
	return a
}

func (a *authority) write(name, kind string, der []byte) {
	a.t.Helper()
	b := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(filepath.Join(a.dir, name), b, 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// issue writes NAME.pem and NAME.key for a party on this machine.
func (a *authority) issue(name string) tls.Certificate {
	a.t.Helper()
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, _ := x509.MarshalPKCS8PrivateKey(key)
	a.write(name+".pem", "CERTIFICATE", der)
	a.write(name+".key", "PRIVATE KEY", keyDER)
	pair, err := tls.LoadX509KeyPair(a.path(name+".pem"), a.path(name+".key"))
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

// startTLS starts a server with a TLS port beside its plain one and returns the
// address of the former.
func (a *authority) startTLS(t *testing.T, args ...string) (*server, string) {
	t.Helper()
	a.issue("server")
	port := freePort(t)
	s := ownServer(t, append([]string{"--tls-port", port, "--tls-cert-file", a.path("server.pem"), "--tls-key-file", a.path("server.key"),
		"--tls-ca-cert-file", a.path("ca.pem")}, args...)...)
	addr := "127.0.0.1:" + port
	eventually(t, "the TLS port is open", func() bool {
		nc, err := net.Dial("tcp", addr)
		if err == nil {
			nc.Close()
		}
		return err == nil
	})
	return s, addr
}

// ping makes a TLS connection and speaks over it.
func pingTLS(t *testing.T, addr string, config *tls.Config) error {
	t.Helper()
	nc, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", addr, config)
	if err != nil {
		return err
	}
	defer nc.Close()
	// In TLS 1.3 a client learns that its certificate was refused when it reads.
	_, err = newConn(t, nc).try("PING")
	return err
}

func TestTLS(t *testing.T) {
	a := newAuthority(t, "the authority")
	mine := a.issue("client")
	stranger := newAuthority(t, "another authority").issue("stranger")
	with := func(certs ...tls.Certificate) *tls.Config {
		return &tls.Config{RootCAs: a.pool, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if len(certs) == 0 {
				return new(tls.Certificate), nil
			}
			return &certs[0], nil
		}}
	}
	for _, test := range []struct {
		mode                   string
		mine, none, strangerOK bool
	}{
		{"yes", true, false, false}, {"optional", true, true, false}, {"no", true, true, true},
	} {
		t.Run("tls-auth-clients "+test.mode, func(t *testing.T) {
			s, addr := a.startTLS(t, "--tls-auth-clients", test.mode)
			for _, client := range []struct {
				name   string
				config *tls.Config
				ok     bool
			}{{"a certificate of the authority", with(mine), test.mine}, {"none", with(), test.none}, {"a stranger's", with(stranger), test.strangerOK}} {
				if err := pingTLS(t, addr, client.config); (err == nil) != client.ok {
					t.Errorf("with %s: %v", client.name, err)
				}
			}
			s.dial().want("+PONG\r\n", "PING")
		})
	}
	t.Run("clients are asked for a certificate unless told otherwise", func(t *testing.T) {
		_, addr := a.startTLS(t)
		if err := pingTLS(t, addr, with()); err == nil {
			t.Error("a client without a certificate was served")
		}
	})
	t.Run("only TLS", func(t *testing.T) {
		port := freePort(t)
		a.issue("server")
		s := ownServer(t, "--port", "0", "--tls-port", port, "--tls-cert-file", a.path("server.pem"), "--tls-key-file", a.path("server.key"),
			"--tls-ca-cert-file", a.path("ca.pem"))
		eventually(t, "the TLS port answers", func() bool { return s.ended() || pingTLS(t, "127.0.0.1:"+port, with(mine)) == nil })
	})
}

// TestTLSProtocols: clients speak the versions of TLS that tls-protocols allows, also when it changes.
func TestTLSProtocols(t *testing.T) {
	a := newAuthority(t, "the authority")
	s, addr := a.startTLS(t, "--tls-auth-clients", "no", "--tls-protocols", "TLSv1.3")
	c := s.dial()
	for _, test := range []struct {
		protocols    string
		has12, has13 bool
	}{{"TLSv1.3", false, true}, {"tlsv1.2", true, false}, {"TLSv1.3 TLSv1.2", true, true}, {"", true, true}} {
		c.ok("CONFIG", "SET", "tls-protocols", test.protocols)
		for version, ok := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: test.has12, tls.VersionTLS13: test.has13} {
			err := pingTLS(t, addr, &tls.Config{RootCAs: a.pool, MinVersion: version, MaxVersion: version})
			if (err == nil) != ok {
				t.Errorf("tls-protocols %q, a client of version %x: %v", test.protocols, version, err)
			}
		}
	}
}

// TestTLSTraffic: large values, pipelines and malformed input over TLS, and
// clients that do not speak it.
func TestTLSTraffic(t *testing.T) {
	a := newAuthority(t, "the authority")
	mine := a.issue("client")
	s, addr := a.startTLS(t)
	dial := func() *conn {
		t.Helper()
		nc, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: a.pool, Certificates: []tls.Certificate{mine}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		return newConn(t, nc)
	}
	c := dial()
	big := strings.Repeat("0123456789", 1<<19)
	c.ok("SET", "big", big)
	if got := c.value("GET", "big").text; got != big {
		t.Errorf("a value of %d bytes came back with %d", len(big), len(got))
	}
	for i, r := range c.pipeline(times(3000, "INCR n")) {
		if v := parseReply(r); v.kind != ':' {
			t.Fatalf("reply %d: %s", i, v)
		}
	}
	s.dial().want("$4\r\n3000\r\n", "GET", "n")
	bad := dial()
	bad.send("*1\r\n$x\r\n")
	bad.wantClosed("-ERR Protocol error: invalid bulk length\r\n")
	plain := dialTo(t, "tcp", addr)
	plain.send("PING\r\n")
	if got, _ := plain.readAll(); strings.Contains(got, "PONG") {
		t.Errorf("a client without TLS was served: %q", got)
	}
	// A handshake that never ends holds up nobody.
	dialTo(t, "tcp", addr)
	c.want("+PONG\r\n", "PING")
}

// TestTLSBadFiles: certificates that cannot be read stop the start.
func TestTLSBadFiles(t *testing.T) {
	a := newAuthority(t, "the authority")
	a.issue("server")
	for name, args := range map[string][]string{
		"no certificate":    {"--tls-port", freePort(t)},
		"a missing file":    {"--tls-port", freePort(t), "--tls-cert-file", "nosuch.pem", "--tls-key-file", a.path("server.key")},
		"the wrong key":     {"--tls-port", freePort(t), "--tls-cert-file", a.path("ca.pem"), "--tls-key-file", a.path("server.key")},
		"not a certificate": {"--tls-port", freePort(t), "--tls-cert-file", a.path("server.key"), "--tls-key-file", a.path("server.key")},
	} {
		t.Run(name, func(t *testing.T) {
			code, out := runToEnd(t, "", append(args, "--port", "0")...)
			if code != 1 || strings.TrimSpace(out) == "" {
				t.Errorf("exit code %d: %s", code, out)
			}
		})
	}
}

// TestTLSAuthorityDirectory: clients' certificates may derive from any in a directory.
func TestTLSAuthorityDirectory(t *testing.T) {
	a, b := newAuthority(t, "the authority"), newAuthority(t, "another authority")
	dir := t.TempDir()
	for name, from := range map[string]string{"a.pem": a.path("ca.pem"), "b.0": b.path("ca.pem")} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "README"), []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	stranger := newAuthority(t, "a third authority").issue("client")
	s, addr := a.startTLS(t, "--tls-ca-cert-file", "", "--tls-ca-cert-dir", dir)
	for i, test := range []struct {
		cert tls.Certificate
		ok   bool
	}{{a.issue("client"), true}, {b.issue("client"), true}, {stranger, false}} {
		config := &tls.Config{RootCAs: a.pool, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &test.cert, nil }}
		if err := pingTLS(t, addr, config); (err == nil) != test.ok {
			t.Errorf("client %d: %v", i, err)
		}
	}
	if got := s.dial().do("CONFIG", "SET", "tls-ca-cert-dir", filepath.Join(dir, "nosuch")); !strings.HasPrefix(got, "-ERR CONFIG SET failed") {
		t.Errorf("a directory that is not there: %q", got)
	}
}

// TestTLSEncryptedKey: the server's key may need a password, which is shown to nobody.
func TestTLSEncryptedKey(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("there is no openssl here to encrypt a key with")
	}
	a := newAuthority(t, "the authority")
	a.issue("server")
	encrypted := a.path("encrypted.key")
	if out, err := exec.Command(openssl, "pkcs8", "-topk8", "-in", a.path("server.key"), "-out", encrypted, "-passout", "pass:hunter2").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	port := freePort(t)
	args := []string{"--tls-port", port, "--tls-cert-file", a.path("server.pem"), "--tls-key-file", encrypted, "--tls-auth-clients", "no"}
	s := ownServer(t, append(args, "--tls-key-file-pass", "hunter2")...)
	if err := pingTLS(t, "127.0.0.1:"+port, &tls.Config{RootCAs: a.pool}); err != nil {
		t.Error(err)
	}
	if strings.Contains(s.log.String(), "hunter2") {
		t.Error("the password is in the log")
	}
	if code, out := runToEnd(t, "", append(args, "--tls-key-file-pass", "guess", "--port", "0")...); code != 1 || !strings.Contains(out, "password is wrong") {
		t.Errorf("a wrong password: exit code %d: %s", code, out)
	}
}

// TestUnixSocketGroup gives the socket to a group of the process.
func TestUnixSocketGroup(t *testing.T) {
	group, err := user.LookupGroupId(strconv.Itoa(os.Getgid()))
	if err != nil {
		t.Skipf("the group of this process has no name: %v", err)
	}
	s := ownServer(t, "-unixonly", "--unixsocketperm", "770", "--unixsocketgroup", group.Name)
	s.dial().want("+PONG\r\n", "PING")
	info, err := os.Stat(s.socketPath())
	if err != nil || info.Mode().Perm() != 0o770 || info.Sys().(*syscall.Stat_t).Gid != uint32(os.Getgid()) {
		t.Errorf("%v, %+v", err, info)
	}
	code, out := runToEnd(t, "", "--port", "0", "--unixsocket", filepath.Join(t.TempDir(), "s"), "--unixsocketgroup", "no such group")
	if code != 1 || !strings.Contains(out, "no such group") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
