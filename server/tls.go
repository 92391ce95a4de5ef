package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"kvserver/server/transport"
)

// tlsNames are the parameters of TLS that can be changed.
var tlsNames = []string{"tls-cert-file", "tls-key-file", "tls-key-file-pass", "tls-ca-cert-file", "tls-ca-cert-dir", "tls-auth-clients", "tls-protocols"}

// reloadTLS reads the certificates again when a parameter about them changes, if TLS is in use at all.
func (s *Server) reloadTLS() error {
	if s.params.tlsPort.Get() == 0 {
		return nil
	}
	cfg, err := s.params.loadTLS()
	if err != nil {
		return err
	}
	s.tls.Store(cfg)
	return nil
}

func (p *Parameters) loadTLS() (*tls.Config, error) {
	certFile, keyFile := p.tlsCertFile.Get(), p.tlsKeyFile.Get()
	if certFile == "" || keyFile == "" {
		return nil, errors.New("tls-port needs tls-cert-file and tls-key-file")
	}
	cert, err := loadCertificate(certFile, keyFile, p.tlsKeyPass.Get())
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	switch p.tlsProtocols.Get() {
	case "TLSv1.2":
		cfg.MaxVersion = tls.VersionTLS12
	case "TLSv1.3":
		cfg.MinVersion = tls.VersionTLS13
	}
	switch p.tlsAuthClients.Get() {
	case "no":
		return cfg, nil
	case "yes":
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
	case "optional":
		cfg.ClientAuth = tls.VerifyClientCertIfGiven
	}
	cfg.ClientCAs, err = loadAuthorities(p.tlsCACertFile.Get(), p.tlsCACertDir.Get())
	return cfg, err
}

// loadCertificate reads the certificate of the server, and its key, which may be encrypted.
func loadCertificate(certFile, keyFile, password string) (cert tls.Certificate, err error) {
	certText, err := os.ReadFile(certFile)
	if err != nil {
		return cert, fmt.Errorf("read tls-cert-file: %w", err)
	}
	keyText, err := os.ReadFile(keyFile)
	if err != nil {
		return cert, fmt.Errorf("read tls-key-file: %w", err)
	}
	if keyText, err = plainKey(keyText, password); err != nil {
		return cert, fmt.Errorf("tls-key-file %q: %w", keyFile, err)
	}
	if cert, err = tls.X509KeyPair(certText, keyText); err != nil {
		return cert, fmt.Errorf("load tls-cert-file and tls-key-file: %w", err)
	}
	return cert, nil
}

// loadAuthorities reads the certificates that those of clients must derive from: of a file, and of all files in a directory
// that have any. OpenSSL looks into the directory when it needs one, by names that are hashes; here it is read at once.
func loadAuthorities(file, dir string) (*x509.CertPool, error) {
	if file == "" && dir == "" {
		return nil, errors.New("tls-auth-clients needs tls-ca-cert-file or tls-ca-cert-dir to verify clients with; set one, or tls-auth-clients no")
	}
	pool := x509.NewCertPool()
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read tls-ca-cert-file: %w", err)
		}
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("tls-ca-cert-file %q holds no certificate", file)
		}
	}
	if dir == "" {
		return pool, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read tls-ca-cert-dir: %w", err)
	}
	found := false
	for _, e := range entries {
		if text, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil && pool.AppendCertsFromPEM(text) {
			found = true
		}
	}
	if !found {
		return nil, fmt.Errorf("tls-ca-cert-dir %q holds no certificate", dir)
	}
	return pool, nil
}

// canonicalTLSProtocols takes the versions of TLS that are held safe. Redis can be told to take older ones.
func canonicalTLSProtocols(v string) (string, error) {
	const v12, v13 = "TLSv1.2", "TLSv1.3"
	var has12, has13 bool
	for _, word := range strings.Fields(v) {
		switch {
		case strings.EqualFold(word, v12):
			has12 = true
		case strings.EqualFold(word, v13):
			has13 = true
		default:
			return "", errors.New("must be TLSv1.2, TLSv1.3 or both; older versions are not safe")
		}
	}
	switch {
	case has12 && has13:
		return v12 + " " + v13, nil
	case has12:
		return v12, nil
	case has13:
		return v13, nil
	}
	return "", nil
}

// listenTCP listens on every bind address. One that begins with '-' may be unavailable, say IPv6 on a machine
// without it.
func (s *Server) listenTCP(port int, o transport.ListenOptions) error {
	for _, addr := range s.params.bind.Get() {
		host, optional := strings.CutPrefix(addr, "-")
		switch host {
		case "*":
			host = "0.0.0.0"
		case "::*":
			host = "::"
		}
		bound, err := s.transport.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)), o)
		if err != nil && optional {
			s.log.Debug("optional address is unavailable", "address", host, "error", err)
			continue
		}
		if err != nil {
			return fmt.Errorf("listen on %s port %d: %w", host, port, err)
		}
		s.log.Info("listening", "address", bound.String(), "tls", o.TLS != nil)
	}
	return nil
}
