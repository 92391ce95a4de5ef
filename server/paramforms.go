package server

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kvserver/config"
)

// form registers a parameter of one type whose value nothing reads.
type form func(r *config.Registry, name, def string, opts []config.Option)

func yesNo(r *config.Registry, name, def string, opts []config.Option) {
	r.Bool(name, def == "yes", opts...)
}

func text(r *config.Registry, name, def string, opts []config.Option) { r.String(name, def, opts...) }

func number(min, max int64) form {
	return func(r *config.Registry, name, def string, opts []config.Option) {
		r.Int(name, mustParse(name, def), min, max, opts...)
	}
}

func size(min, max int64) form {
	return func(r *config.Registry, name, def string, opts []config.Option) {
		r.Memory(name, mustParse(name, def), min, max, opts...)
	}
}

// mustParse reads a default of the tables.
func mustParse(name, def string) int64 {
	negative := strings.HasPrefix(def, "-")
	n, err := config.ParseSize(strings.TrimPrefix(def, "-"))
	if err != nil {
		panic("server: default of " + name + ": " + err.Error())
	}
	if negative {
		return -n
	}
	return n
}

func oneOf(values ...string) form {
	return func(r *config.Registry, name, def string, opts []config.Option) {
		r.Enum(name, def, values, opts...)
	}
}

// checked is a form of its own: check makes the canonical text of a value, and allowed tells people what it takes.
func checked(check func(string) (string, error), allowed string) form {
	return func(r *config.Registry, name, def string, opts []config.Option) {
		r.Custom(name, def, check, append(opts, config.Allowed(allowed))...)
	}
}

// hertz takes a number and moves it into the range, as Redis does.
func hertz(v string) (string, error) {
	const min, max = 1, 500
	n, err := strconv.ParseInt(v, 10, 64)
	switch {
	case err != nil || strconv.FormatInt(n, 10) != v:
		return "", errors.New("argument couldn't be parsed into an integer")
	case n < 0 || n > 1<<31-1:
		return "", fmt.Errorf("argument must be between 0 and %d inclusive", 1<<31-1)
	case n < min:
		n = min
	case n > max:
		n = max
	}
	return strconv.FormatInt(n, 10), nil
}

// titleTemplate accepts a text in which each brace belongs to a word that Redis knows.
func titleTemplate(v string) (string, error) {
	bad := errors.New("template format is invalid or contains unknown variables")
	words := []string{"title", "listen-addr", "server-mode", "port", "tls-port", "unixsocket", "config-file"}
	if strings.TrimSpace(v) == "" {
		return "", bad
	}
	for rest := v; ; {
		_, after, found := strings.Cut(rest, "{")
		if !found {
			return v, nil
		}
		word, after, closed := strings.Cut(after, "}")
		if !closed || !slices.Contains(words, word) {
			return "", bad
		}
		rest = after
	}
}

func oomScoreAdj(v string) (string, error) {
	switch v = strings.ToLower(v); v {
	case "no", "yes", "absolute":
		return v, nil
	case "relative":
		return "yes", nil
	}
	return "", errors.New("argument(s) must be one of the following: no, yes, relative, absolute")
}

func oomScores(v string) (string, error) {
	words := strings.Fields(v)
	if len(words) != 3 {
		return "", errors.New("wrong number of arguments")
	}
	for i, w := range words {
		n, err := strconv.Atoi(w)
		if err != nil || n < -2000 || n > 2000 {
			return "", errors.New("Invalid oom-score-adj-values, elements must be between -2000 and 2000.")
		}
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, " "), nil
}

// eventClasses takes the letters of notify-keyspace-events, and puts them into Redis's order; A stands for the types
// and the common events.
func eventClasses(v string) (string, error) {
	const types, others = "g$lshzxetd", "nKEm"
	if strings.Trim(v, "A"+types+others) != "" {
		return "", errors.New("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")
	}
	given := func(letters string) string {
		return strings.Map(func(c rune) rune {
			if strings.ContainsRune(v, c) {
				return c
			}
			return -1
		}, letters)
	}
	if strings.Contains(v, "A") || given(types) == types {
		return "A" + given(others), nil
	}
	return given(types) + given(others), nil
}

// shutdownOptions takes what a signal should add to SHUTDOWN. "save" would force a snapshot, which there is not.
func shutdownOptions(v string) (string, error) {
	words := strings.Fields(strings.ToLower(v))
	order := []string{"default", "save", "nosave", "now", "force"}
	for _, w := range words {
		if !slices.Contains(order, w) {
			words = nil
			break
		}
	}
	switch save := slices.Contains(words, "save"); {
	case len(words) == 0:
		return "", errors.New("argument(s) must be one of the following: " + strings.Join(order, ", "))
	case save && slices.Contains(words, "nosave"):
		return "", errors.New("shutdown options SAVE and NOSAVE can't be used simultaneously")
	case save:
		return "", errors.New("there is no persistence yet: a shutdown cannot save")
	}
	given := slices.DeleteFunc(order[1:], func(w string) bool { return !slices.Contains(words, w) })
	if len(given) == 0 {
		return "default", nil
	}
	return strings.Join(given, " "), nil
}

func fileNameOf(parameter string) func(string) (string, error) {
	return func(v string) (string, error) {
		if strings.Contains(v, "/") {
			return "", errors.New(parameter + " can't be a path, just a filename")
		}
		return v, nil
	}
}

// hostName takes what a cluster would announce.
func hostName(v string) (string, error) {
	const bytesMax = 255
	if len(v) > bytesMax {
		return "", fmt.Errorf("Hostnames must be less than %d characters", bytesMax+1)
	}
	for _, c := range []byte(v) {
		if c != '-' && c != '.' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return "", errors.New("Hostnames may only contain alphanumeric characters, hyphens or dots")
		}
	}
	return v, nil
}

// noMaster takes the words that mean none.
func noMaster(v string) (string, error) {
	if strings.EqualFold(strings.Join(strings.Fields(v), " "), "no one") {
		return "", nil
	}
	return v, nil
}

// sizeOrPercent takes a size in bytes, or a part of maxmemory.
func sizeOrPercent(v string) (string, error) {
	if digits, found := strings.CutSuffix(v, "%"); found {
		n, err := strconv.ParseUint(digits, 10, 63)
		if err == nil && n > 100 {
			return "", errors.New("percentage argument must be less or equal to 100")
		}
		if err == nil {
			return strconv.FormatUint(n, 10) + "%", nil
		}
	}
	n, err := config.ParseSize(v)
	if err != nil {
		return "", errors.New("argument must be a memory or percent value")
	}
	return strconv.FormatInt(n, 10), nil
}
