package node

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// fields are those of one map of a reply.
type fields map[string]any

// fieldsOf reads a map: RESP3's, or the flat array that RESP2 has for it.
func fieldsOf(v any) (fields, error) {
	f := fields{}
	switch v := v.(type) {
	case map[any]any:
		for name, value := range v {
			f[fmt.Sprint(name)] = value
		}
	case []any:
		if len(v)%2 != 0 {
			return nil, fmt.Errorf("a map of %d names and values", len(v))
		}
		for i := 0; i < len(v); i += 2 {
			name, ok := v[i].(string)
			if !ok {
				return nil, fmt.Errorf("a field called %v", v[i])
			}
			f[name] = v[i+1]
		}
	default:
		return nil, fmt.Errorf("%T instead of a map", v)
	}
	return f, nil
}

// text returns the first of these fields that there is, as a string.
func (f fields) text(names ...string) (string, bool) {
	for _, name := range names {
		if v, ok := f[name]; ok && v != nil {
			return fmt.Sprint(v), true
		}
	}
	return "", false
}

// number returns the first of these fields that there is, NaN where there is none or it is no number that can have been counted.
func (f fields) number(names ...string) float64 {
	for _, name := range names {
		switch v := f[name].(type) {
		case int64:
			return counted(float64(v))
		case float64:
			return counted(v)
		case bool:
			if v {
				return 1
			}
			return 0
		case string:
			if n, err := strconv.ParseFloat(v, 64); err == nil {
				return counted(n)
			}
		}
	}
	return math.NaN()
}

// countMax is beyond what anything can have been counted to, and small enough that sums and products stay finite.
const countMax = 1 << 53

// counted takes what no server can have counted, such as an infinity or less than nothing, for a number that is not known.
func counted(n float64) float64 {
	if n >= 0 && n <= countMax {
		return n
	}
	return math.NaN()
}

// durationMax is well beyond any that is told.
const durationMax = 100 * 365 * 24 * time.Hour

// millis returns the first of these fields that there is as a duration, and whether it is one.
func (f fields) millis(names ...string) (time.Duration, bool) {
	ms := f.number(names...)
	if !(ms <= float64(durationMax/time.Millisecond)) {
		return 0, false
	}
	return time.Duration(ms * float64(time.Millisecond)), true
}

// list returns the array of a field, nil where there is none.
func (f fields) list(name string) []any {
	v, _ := f[name].([]any)
	return v
}

// identity returns the key and database of a reply's map.
func (f fields) identity() (key string, db int, err error) {
	key, ok := f.text("key")
	n := f.number("db")
	if !ok || math.IsNaN(n) || n < 0 || n > math.MaxInt32 {
		return "", 0, fmt.Errorf("an entry without key and db")
	}
	return key, int(n), nil
}

// infoFields reads a reply of INFO.
func infoFields(text string) fields {
	f := fields{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			f[name] = value
		}
	}
	return f
}
