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
	// ErrStreamExhausted: the stream's last ID is the greatest there is.
	ErrStreamExhausted = errors.New("store: no ID is left in the stream")
	// ErrIDTooSmall: an entry's ID must be greater than the stream's last one.
	ErrIDTooSmall = errors.New("store: ID not above the last one")
	// ErrEntryTooLarge: fields and values do not fit into one block.
	ErrEntryTooLarge = errors.New("store: entry too large")
	// ErrIDBelowDeleted: the last ID cannot be below that of an entry which was deleted.
	ErrIDBelowDeleted = errors.New("store: last ID below a deleted one")
	// ErrIDBelowTop: the last ID cannot be below that of the last entry.
	ErrIDBelowTop = errors.New("store: last ID below that of the last entry")
	// ErrAddedBelowLength: a stream cannot have more entries than were ever added.
	ErrAddedBelowLength = errors.New("store: fewer entries added than there are")
	// ErrScoreNaN: the sum of a score and its increment is not a number.
	ErrScoreNaN = errors.New("store: resulting score is not a number")
	// ErrSortNumber: what is to be sorted by is not a number.
	ErrSortNumber = errors.New("store: a value to sort by is not a number")
)
