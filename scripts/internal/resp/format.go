package resp

import (
	"fmt"
	"strconv"
	"strings"
)

// Format returns the reply as redis-cli prints it on a terminal, ending in a newline.
func (r Reply) Format() string {
	var text strings.Builder
	r.format(&text, "")
	return text.String()
}

// format writes the reply; indent is what goes before the second and later elements of an array, whose first element
// continues the line that its parent began.
func (r Reply) format(text *strings.Builder, indent string) {
	switch {
	case r.Null:
		text.WriteString("(nil)\n")
	case r.Kind == Status:
		text.WriteString(r.Text + "\n")
	case r.Kind == Error:
		text.WriteString("(error) " + r.Text + "\n")
	case r.Kind == Integer:
		fmt.Fprintf(text, "(integer) %d\n", r.Integer)
	case r.Kind == Bulk:
		text.WriteString(quote(r.Text) + "\n")
	case len(r.Elements) == 0:
		text.WriteString("(empty array)\n")
	default:
		width := len(strconv.Itoa(len(r.Elements)))
		for i, element := range r.Elements {
			if i > 0 {
				text.WriteString(indent)
			}
			fmt.Fprintf(text, "%*d) ", width, i+1)
			element.format(text, indent+strings.Repeat(" ", width+2))
		}
	}
}

// quote shows bytes that are not printable ASCII the way redis-cli does; strconv.Quote would let UTF-8 through.
func quote(text string) string {
	var quoted strings.Builder
	quoted.WriteByte('"')
	for _, b := range []byte(text) {
		switch {
		case b == '"' || b == '\\':
			quoted.Write([]byte{'\\', b})
		case b == '\n':
			quoted.WriteString(`\n`)
		case b == '\r':
			quoted.WriteString(`\r`)
		case b == '\t':
			quoted.WriteString(`\t`)
		case b == '\a':
			quoted.WriteString(`\a`)
		case b == '\b':
			quoted.WriteString(`\b`)
		case b < ' ' || b > '~':
			fmt.Fprintf(&quoted, `\x%02x`, b)
		default:
			quoted.WriteByte(b)
		}
	}
	quoted.WriteByte('"')
	return quoted.String()
}
