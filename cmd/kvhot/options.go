package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"kvserver/cmd/kvhot/node"
)

// options are those of all commands. The ones of connections have redis-cli's names, but for -a, which is an address here.
type options struct {
	addresses     []string
	host, socket  string
	port          int
	uri           string
	user, pass    string
	askpass       bool
	resp2, resp3  bool
	timeout       float64
	tls, insecure bool
	sni           string
	cacert        string
	cacertdir     string
	cert, key     string

	once, json, csv bool
	interval        float64
	count, db       int

	byText  string
	by      node.Ranking
	watch   watchOptions
	history historyOptions

	args  []string
	nodes []*node.Node
	late  []chan answer // of each node, one that a refresh did not wait for
}

// intervalMax is as far as two refreshes may be apart, in seconds.
const intervalMax = 3600

// flagsOf returns the flags of a command and the options they set.
func flagsOf(c command) (*pflag.FlagSet, *options) {
	o := &options{}
	fs := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	c.flags(fs, o)
	fs.BoolVar(&o.once, "once", false, "answer once and end")
	fs.BoolVar(&o.json, "json", false, "write an object of JSON a line")
	fs.BoolVar(&o.csv, "csv", false, "write CSV")
	fs.Float64VarP(&o.interval, "interval", "i", 1, "seconds between refreshes")
	fs.StringArrayVarP(&o.addresses, "address", "a", nil, "server: host:port, a socket's path, a redis:// or rediss:// URI; again for each one")
	fs.StringVarP(&o.host, "host", "h", "127.0.0.1", "server's host, if there is no -a")
	fs.IntVarP(&o.port, "port", "p", 6379, "server's port, if there is no -a")
	fs.StringVarP(&o.socket, "socket", "s", "", "server's Unix socket")
	fs.StringVarP(&o.uri, "uri", "u", "", "server's URI")
	fs.StringVar(&o.user, "user", "", "user; needs a password")
	fs.StringVar(&o.pass, "pass", "", "password; better in the environment as REDISCLI_AUTH")
	fs.BoolVar(&o.askpass, "askpass", false, "ask for the password")
	fs.BoolVar(&o.tls, "tls", false, "use TLS")
	fs.StringVar(&o.sni, "sni", "", "server name for TLS")
	fs.StringVar(&o.cacert, "cacert", "", "file of the authorities to trust instead of the system's")
	fs.StringVar(&o.cacertdir, "cacertdir", "", "directory of such files")
	fs.BoolVar(&o.insecure, "insecure", false, "do not check the server's certificate")
	fs.StringVar(&o.cert, "cert", "", "client's certificate")
	fs.StringVar(&o.key, "key", "", "private key of the client's certificate")
	fs.BoolVarP(&o.resp2, "resp2", "2", false, "speak RESP2")
	fs.BoolVarP(&o.resp3, "resp3", "3", false, "speak RESP3, the default")
	fs.Float64Var(&o.timeout, "timeout", 5, "seconds to wait for a server")
	return fs, o
}

// parse reads and checks all arguments and makes the nodes, without connecting yet.
func parse(ctx context.Context, c command, args []string) (*options, error) {
	fs, o := flagsOf(c)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	o.args = fs.Args()
	most := 0
	if c.args != "" {
		most = 1
	}
	switch {
	case len(o.args) > most:
		return nil, fmt.Errorf("what is %q?", o.args[most])
	case o.json && o.csv:
		return nil, errors.New("--json or --csv, not both")
	case !(o.interval >= 0.1 && o.interval <= intervalMax):
		return nil, fmt.Errorf("--interval %v: from 0.1 to %d seconds", o.interval, intervalMax)
	case !(o.timeout >= 0.1 && o.timeout <= intervalMax):
		return nil, fmt.Errorf("--timeout %v: from 0.1 to %d seconds", o.timeout, intervalMax)
	case o.count < 0 || o.count > 1000:
		return nil, fmt.Errorf("--count %d: from 0 to 1000", o.count)
	case o.db < -1 || o.db > math.MaxInt32:
		return nil, fmt.Errorf("--db %d: want a database, or -1 for all", o.db)
	case o.resp2 && o.resp3:
		return nil, errors.New("-2 or -3, not both")
	}
	if err := c.check(o); err != nil {
		return nil, err
	}
	if err := o.connect(ctx); err != nil {
		return nil, err
	}
	return o, nil
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// connect makes the nodes.
func (o *options) connect(ctx context.Context) error {
	settings := node.Options{Username: o.user, Password: o.pass, Secure: o.tls, Protocol: 3, Timeout: duration(o.timeout)}
	if o.resp2 {
		settings.Protocol = 2
	}
	if settings.Password == "" {
		settings.Password = os.Getenv("REDISCLI_AUTH")
	}
	if o.askpass {
		password, err := askPassword(ctx)
		if err != nil {
			return err
		}
		settings.Password = password
	}
	if settings.Username != "" && settings.Password == "" {
		return errors.New("--user needs a password: --pass, --askpass or REDISCLI_AUTH")
	}
	var err error
	if settings.TLS, err = o.tlsConfig(); err != nil {
		return err
	}
	for _, text := range o.servers() {
		n, err := node.New(text, settings)
		if err != nil {
			o.close()
			return err
		}
		o.nodes = append(o.nodes, n)
	}
	return nil
}

// servers returns the addresses: all that were given, in one way or another.
func (o *options) servers() []string {
	list := o.addresses
	for _, text := range []string{o.socket, o.uri} {
		if text != "" {
			list = append(list, text)
		}
	}
	if len(list) == 0 {
		list = []string{net.JoinHostPort(o.host, strconv.Itoa(o.port))}
	}
	return list
}

// close ends the connections.
func (o *options) close() {
	for _, n := range o.nodes {
		_ = n.Close()
	}
}

// askPassword reads a line from the terminal without showing it, until ctx ends.
func askPassword(ctx context.Context) (string, error) {
	stdin := int(os.Stdin.Fd())
	if !term.IsTerminal(stdin) {
		return "", errors.New("--askpass needs a terminal")
	}
	fmt.Fprint(os.Stderr, "Please input password: ")
	before, err := term.GetState(stdin)
	if err != nil {
		return "", err
	}
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	go func() { // it goes on reading if ctx ends, when the process does
		text, err := term.ReadPassword(stdin)
		read <- line{text, err}
	}()
	defer fmt.Fprintln(os.Stderr)
	select {
	case l := <-read:
		return string(l.text), l.err
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(stdin, before))
	}
}

// tlsConfig reads the certificates, also if only a URI may ask for TLS.
func (o *options) tlsConfig() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.sni, InsecureSkipVerify: o.insecure}
	files := []string{}
	if o.cacert != "" {
		files = append(files, o.cacert)
	}
	if o.cacertdir != "" {
		found, err := filepath.Glob(filepath.Join(o.cacertdir, "*"))
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("--cacertdir %s: there is no file", o.cacertdir)
		}
		files = append(files, found...)
	}
	if len(files) > 0 {
		c.RootCAs = x509.NewCertPool()
	}
	added := len(files) == 0
	for _, file := range files {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("authorities: %w", err)
		}
		added = c.RootCAs.AppendCertsFromPEM(pem) || added
	}
	if !added {
		return nil, errors.New("there is no certificate in what --cacert and --cacertdir name")
	}
	if (o.cert == "") != (o.key == "") {
		return nil, errors.New("--cert needs --key, and --key needs --cert")
	}
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return nil, fmt.Errorf("client's certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
