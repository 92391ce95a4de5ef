package lua

import lua "github.com/yuin/gopher-lua"

// formatNumber writes a number as Lua does.
func formatNumber(n lua.LNumber) string {
	var scratch [32]byte
	return string(appendNumber(scratch[:0], float64(n), numberDigits))
}
