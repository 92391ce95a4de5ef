package info

import "strconv"

// Writer appends the fields of a section, each a line "name:value\r\n".
//
// A value that is itself a list ("calls=1,usec=5") is written between Begin and End:
//
//	w.Begin("db", "0")
//	w.PartInt("keys", 1)
//	w.PartInt("expires", 0)
//	w.End()
type Writer struct {
	buf   []byte
	parts int // written since Begin
}

// Int writes a whole number.
func (w *Writer) Int(name string, value int64) {
	w.name(name)
	w.buf = strconv.AppendInt(w.buf, value, 10)
	w.End()
}

// Uint writes a whole number that may exceed the range of Int.
func (w *Writer) Uint(name string, value uint64) {
	w.name(name)
	w.buf = strconv.AppendUint(w.buf, value, 10)
	w.End()
}

// Bool writes 1 or 0.
func (w *Writer) Bool(name string, value bool) {
	w.name(name)
	digit := byte('0')
	if value {
		digit = '1'
	}
	w.buf = append(w.buf, digit)
	w.End()
}

// Float writes value with prec digits after the point.
func (w *Writer) Float(name string, value float64, prec int) {
	w.name(name)
	w.buf = strconv.AppendFloat(w.buf, value, 'f', prec, 64)
	w.End()
}

// Percent writes value with prec digits after the point and a percent sign: 12.50%.
func (w *Writer) Percent(name string, value float64, prec int) {
	w.name(name)
	w.buf = strconv.AppendFloat(w.buf, value, 'f', prec, 64)
	w.buf = append(w.buf, '%')
	w.End()
}

// Str writes value. Line breaks in it become blanks, since they would forge further fields.
func (w *Writer) Str(name, value string) {
	w.name(name)
	for i := range len(value) {
		c := value[i]
		if c == '\r' || c == '\n' {
			c = ' '
		}
		w.buf = append(w.buf, c)
	}
	w.End()
}

// Human writes a size in bytes the way Redis writes its …_human fields: 1.50M.
func (w *Writer) Human(name string, bytes int64) {
	w.name(name)
	const units = "KMGTP"
	switch {
	case bytes < 1024:
		w.buf = strconv.AppendInt(w.buf, bytes, 10)
		w.buf = append(w.buf, 'B')
	default:
		unit, size := 0, int64(1024)
		for unit < len(units)-1 && bytes/1024 >= size {
			unit, size = unit+1, size*1024
		}
		w.buf = strconv.AppendFloat(w.buf, float64(bytes)/float64(size), 'f', 2, 64)
		w.buf = append(w.buf, units[unit])
	}
	w.End()
}

// Begin starts a field whose value is a list of parts. The field's name is prefix followed by name; name may come from a
// client (an error code, a command), so characters that would break the line become underscores, as in Redis.
func (w *Writer) Begin(prefix, name string) {
	w.buf = append(w.buf, prefix...)
	for i := range len(name) {
		c := name[i]
		if c == '#' || c == ':' || c == '\r' || c == '\n' {
			c = '_'
		}
		w.buf = append(w.buf, c)
	}
	w.buf = append(w.buf, ':')
	w.parts = 0
}

// PartInt adds key=value to the list.
func (w *Writer) PartInt(key string, value int64) {
	w.part(key)
	w.buf = strconv.AppendInt(w.buf, value, 10)
}

// PartFloat adds key=value with prec digits after the point to the list.
func (w *Writer) PartFloat(key string, value float64, prec int) {
	w.part(key)
	w.buf = strconv.AppendFloat(w.buf, value, 'f', prec, 64)
}

// End ends the line of a field started with Begin.
func (w *Writer) End() {
	w.buf = append(w.buf, "\r\n"...)
}

func (w *Writer) name(name string) {
	w.buf = append(w.buf, name...)
	w.buf = append(w.buf, ':')
}

func (w *Writer) part(key string) {
	if w.parts > 0 {
		w.buf = append(w.buf, ',')
	}
	w.parts++
	w.buf = append(w.buf, key...)
	w.buf = append(w.buf, '=')
}
