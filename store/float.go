package store

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// INCRBYFLOAT computes as Redis does with C's long double: 64 bits of mantissa, printed with 17 decimals of which
// trailing zeros are dropped.

const (
	floatPrecision = 64 // bits
	floatDecimals  = 17
	// floatLenMax is the longest number that is parsed, in bytes, as in Redis.
	floatLenMax = 5*1024 - 1
	// floatExponentLenMax is the length of the longest exponent that is computed with.
	floatExponentLenMax = 5
	// floatExponentMax is the binary exponent of the largest long doubles, the mantissa in [0.5, 1).
	floatExponentMax = 16384
)

// floatZero is the largest number that a long double rounds to zero: half of the smallest.
var floatZero = new(big.Float).SetMantExp(big.NewFloat(1), -16446)

// addDecimals returns a + b, as text.
func addDecimals(a, b []byte) (string, error) {
	x, err := parseFloat(a)
	if err != nil {
		return "", err
	}
	y, err := parseFloat(b)
	if err != nil {
		return "", err
	}
	if x.IsInf() || y.IsInf() {
		return "", ErrNaN
	}
	sum := new(big.Float).SetPrec(floatPrecision).Add(x, y)
	if sum.MantExp(nil) > floatExponentMax {
		return "", ErrNaN
	}
	return printFloat(sum), nil
}

func printFloat(f *big.Float) string {
	s := f.Text('f', floatDecimals)
	s = strings.TrimRight(s, "0")
	s = strings.TrimSuffix(s, ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// parseFloat accepts what C's strtold takes as a whole and Redis lets pass: decimal and hexadecimal numbers and infinity,
// without spaces.
func parseFloat(b []byte) (*big.Float, error) {
	f := new(big.Float).SetPrec(floatPrecision)
	if len(b) == 0 || len(b) > floatLenMax {
		return nil, ErrNotFloat
	}
	s := strings.ToLower(string(b))
	body := strings.TrimPrefix(strings.TrimPrefix(s, "+"), "-")
	if len(s)-len(body) > 1 {
		return nil, ErrNotFloat
	}
	if body == "inf" || body == "infinity" {
		return f.SetInf(s[0] == '-'), nil
	}
	number, zero := isNumber(body)
	switch {
	case !number:
		return nil, ErrNotFloat
	case zero:
		return f, nil
	}
	base := 10
	if strings.HasPrefix(body, "0x") {
		base = 0
	}
	// Bits to spare, so that only the last step rounds.
	exact, _, err := big.ParseFloat(s, base, 4*floatPrecision, big.ToNearestEven)
	if err != nil {
		return nil, ErrNotFloat
	}
	f.Set(exact)
	if f.MantExp(nil) > floatExponentMax || new(big.Float).Abs(f).Cmp(floatZero) <= 0 {
		return nil, ErrNotFloat
	}
	return f, nil
}

// isNumber checks the form of an unsigned number, and reports whether it is zero. A number with an exponent that is too
// long to compute with, unless it is zero, is none: it is far beyond a long double.
func isNumber(s string) (number, zero bool) {
	digits, mark := "0123456789", byte('e')
	if strings.HasPrefix(s, "0x") {
		s, digits, mark = s[2:], "0123456789abcdef", 'p'
	}
	exponent := "0"
	if i := strings.IndexByte(s, mark); i >= 0 {
		s, exponent = s[:i], s[i+1:]
		if exponent != "" && (exponent[0] == '+' || exponent[0] == '-') {
			exponent = exponent[1:]
		}
	}
	whole, fraction, _ := strings.Cut(s, ".")
	if whole+fraction == "" || exponent == "" || strings.Trim(whole+fraction, digits)+strings.Trim(exponent, "0123456789") != "" {
		return false, false
	}
	zero = strings.Trim(whole+fraction, "0") == ""
	return zero || len(strings.TrimLeft(exponent, "0")) <= floatExponentLenMax, zero
}

// ParseDouble returns the 64-bit float that s is as a whole, as C's strtod reads it: decimal, hexadecimal or infinite,
// without blanks. ok is false for anything else, for not-a-number, and for what is too large or too small for one.
func ParseDouble(s []byte) (f float64, ok bool) {
	if len(s) == 0 || len(s) > floatLenMax {
		return 0, false
	}
	if n, isInt := ParseInteger(s); isInt {
		return float64(n), true
	}
	text := string(s)
	body := strings.TrimLeft(text, "+-")
	if len(text)-len(body) > 1 || strings.IndexByte(body, '_') >= 0 {
		return 0, false
	}
	hex := len(body) > 1 && body[0] == '0' && body[1]|0x20 == 'x'
	if hex && !strings.ContainsAny(body, "pP") {
		text += "p0"
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) {
		return 0, false
	}
	if f == 0 {
		if number, zero := isNumber(strings.ToLower(body)); !number || !zero {
			return 0, false // it underflowed
		}
	}
	return f, true
}

// AppendDouble appends f as Redis 7.2 prints it: integers up to 2^62 in full, everything else with the fewest digits that
// read back the same, in plain form unless that would be long.
func AppendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case f == 0 && math.Signbit(f):
		return append(dst, "-0"...)
	case f >= -math.MaxInt64/2 && f <= math.MaxInt64/2 && f == math.Trunc(f):
		return strconv.AppendInt(dst, int64(f), 10)
	}
	var scratch [32]byte
	digits, exponent := shortest(scratch[:0], f)
	if f < 0 {
		dst = append(dst, '-')
	}
	n := len(digits)
	point := exponent + 1 // digits before the decimal point
	size := exponent
	if size < 0 {
		size = -size
	}
	switch {
	case point >= n && size < n+7:
		dst = append(dst, digits...)
		return append(dst, strings.Repeat("0", point-n)...)
	case point < n && (point > n-7 || size < 4):
		if point <= 0 {
			dst = append(dst, "0."...)
			dst = append(dst, strings.Repeat("0", -point)...)
			return append(dst, digits...)
		}
		dst = append(dst, digits[:point]...)
		dst = append(dst, '.')
		return append(dst, digits[point:]...)
	}
	dst = append(dst, digits[0])
	if n > 1 {
		dst = append(dst, '.')
		dst = append(dst, digits[1:]...)
	}
	dst = append(dst, 'e')
	if exponent >= 0 {
		dst = append(dst, '+')
	}
	return strconv.AppendInt(dst, int64(exponent), 10)
}

// shortest returns the fewest digits that stand for |f|, without point and trailing zeros, and the decimal exponent of the
// first one.
func shortest(scratch []byte, f float64) (digits []byte, exponent int) {
	text := strconv.AppendFloat(scratch, math.Abs(f), 'e', -1, 64)
	e := bytes.IndexByte(text, 'e')
	exponent, _ = strconv.Atoi(string(text[e+1:]))
	digits = append(text[:1], text[min(2, e):e]...)
	return digits, exponent
}
