package web

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// Login is what a request says about who sends it.
type Login struct {
	Remote   netip.Addr // of whom; invalid: unknown
	Given    bool       // with a name and password
	User     string     // empty: the default user
	Password string
}

// Verdict is the answer to a login.
type Verdict int

// Verdicts.
const (
	Admitted  Verdict = iota // by a password
	Open                     // without one: none is needed
	Unknown                  // a password is needed, or this one is wrong
	Forbidden                // the user may not look at hot keys
	Protected                // no password is set, and the request comes from another machine
	Busy                     // see ErrBusy
)

// refusals are what is answered to those who are not let in.
var refusals = map[Verdict]struct {
	status int
	text   string
}{
	Unknown:   {http.StatusUnauthorized, "A name and password of a user of this server are needed."},
	Forbidden: {http.StatusForbidden, "This user has no permission to run HOTKEYS GET."},
	Protected: {http.StatusForbidden, "Protected mode: no password is set for the default user, so only this machine may look. " +
		"Set a password (requirepass), or protected-mode no if the network is closed to strangers."},
	Busy: {http.StatusServiceUnavailable, "The server is " + ErrBusy.Error() + "."},
}

// admitted lets those through to next who may see what HOTKEYS GET answers.
func (s *Server) admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var login Login
		login.User, login.Password, login.Given = r.BasicAuth()
		if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
			login.Remote = from.Addr().Unmap()
		}
		verdict, err := ask(s, func() (Verdict, error) { return s.options.Authorize(login), nil })
		if err != nil {
			verdict = Busy
		}
		switch refusal, refused := refusals[verdict]; {
		case refused:
			if verdict == Unknown {
				w.Header().Set("WWW-Authenticate", `Basic realm="kvserver", charset="UTF-8"`)
			}
			http.Error(w, refusal.text, refusal.status)
		case verdict == Open && !s.knownHost(r.Host):
			http.Error(w, "This server does not know itself by that name. Use its address, or list the name in http-hosts, or set a password.",
				http.StatusMisdirectedRequest)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// knownHost tells whether a request may have found this server by a name that means it and nothing else. An address can not
// have been given another meaning, and who sends no host is no browser.
func (s *Server) knownHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil || host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if own, err := os.Hostname(); err == nil && strings.EqualFold(host, own) {
		return true
	}
	return slices.ContainsFunc(s.options.Hosts(), func(name string) bool { return strings.EqualFold(host, name) })
}

// contentPolicy lets a page load from this server only, and run nothing that stands in a page or is made of a string.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// bounded sets the headers that all answers have, and takes no bodies.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cache-Control", "no-store")
		if r.ContentLength != 0 { // -1 is one of a length that is not told
			h.Set("Connection", "close") // else the server would wait for the body to end
			http.Error(w, "Requests have no body here.", http.StatusRequestEntityTooLarge)
			return
		}
		next.ServeHTTP(w, r)
	})
}
