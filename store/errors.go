package store

import "errors"

// What a data method can refuse. The server turns each into the reply text of Redis.
var (
	// ErrWrongType: the key holds a value of another type than the command works on.
	ErrWrongType = errors.New("store: value of the wrong type")
	// ErrNotInteger: the value, or an argument, is not a 64-bit signed decimal integer.
	ErrNotInteger = errors.New("store: value is not an integer")
	// ErrNotFloat: the value, or an argument, is not a floating point number.
	ErrNotFloat = errors.New("store: value is not a float")
	// ErrOverflow: the result does not fit into 64 bits.
	ErrOverflow = errors.New("store: increment or decrement would overflow")
	// ErrNaN: the result would be infinite or not a number.
	ErrNaN = errors.New("store: increment would produce NaN or Infinity")
	// ErrStringTooLong: the string would exceed proto-max-bulk-len.
	ErrStringTooLong = errors.New("store: string exceeds maximum allowed size")
	// ErrInfinite: the argument is infinite, or not a number.
	ErrInfinite = errors.New("store: value is NaN or Infinity")
	// ErrFieldNotInteger: the value of the field is not an integer.
	ErrFieldNotInteger = errors.New("store: hash value is not an integer")
	// ErrFieldNotFloat: the value of the field is not a floating point number.
	ErrFieldNotFloat = errors.New("store: hash value is not a float")
	// ErrNotHyperLogLog: the string at the key is no HyperLogLog.
	ErrNotHyperLogLog = errors.New("store: not a HyperLogLog")
	// ErrCorruptHyperLogLog: the value begins like a HyperLogLog and goes on otherwise.
	ErrCorruptHyperLogLog = errors.New("store: corrupt HyperLogLog")
	// ErrNotSparse: the HyperLogLog is dense, and has no runs to show.
	ErrNotSparse = errors.New("store: the HyperLogLog is not sparse")
	// ErrNoKey: the command needs an existing key.
	ErrNoKey = errors.New("store: no such key")
	// ErrIndexRange: the list has no element with this index.
	ErrIndexRange = errors.New("store: index out of range")
)
