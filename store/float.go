package store

import (
	"math/big"
	"strings"
)

// INCRBYFLOAT computes as Redis does with C's long double: 64 bits of mantissa, printed with 17 decimals of which
// trailing zeros are dropped.

const (
	floatPrecision = 64 // bits
	floatDecimals  = 17
	// floatLenMax is the longest number that is parsed, in bytes, as in Redis.
	floatLenMax = 5*1024 - 1
	// floatExponentMax and floatExponentMin are the binary exponents of a long double, its mantissa in [0.5, 1).
	floatExponentMax = 16384
	floatExponentMin = -16444
)

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
	if !isNumber(body) {
		return nil, ErrNotFloat
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
	if f.Sign() != 0 && (f.MantExp(nil) > floatExponentMax || f.MantExp(nil) < floatExponentMin) {
		return nil, ErrNotFloat
	}
	return f, nil
}

// isNumber checks the form of an unsigned number, and that its exponent is short enough to compute with.
func isNumber(s string) bool {
	digits, mark := "0123456789", byte('e')
	if strings.HasPrefix(s, "0x") {
		s, digits, mark = s[2:], "0123456789abcdef", 'p'
	}
	if i := strings.IndexByte(s, mark); i >= 0 {
		exponent := s[i+1:]
		s = s[:i]
		if len(exponent) > 0 && (exponent[0] == '+' || exponent[0] == '-') {
			exponent = exponent[1:]
		}
		exponent = strings.TrimLeft(exponent, "0")
		if len(exponent) > 5 || strings.Trim(exponent, "0123456789") != "" {
			return false
		}
	}
	whole, fraction, _ := strings.Cut(s, ".")
	return len(whole)+len(fraction) > 0 && strings.Trim(whole+fraction, digits) == ""
}
