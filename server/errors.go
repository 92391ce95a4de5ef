package server

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"kvserver/store"
)

// Reply texts that several commands share, byte for byte Redis's: clients match on them.
const (
	errSyntax        = "ERR syntax error"
	errNotInteger    = "ERR value is not an integer or out of range"
	errNotFloat      = "ERR value is not a valid float"
	errOverflow      = "ERR increment or decrement would overflow"
	errNaNOrInfinity = "ERR increment would produce NaN or Infinity"
	errStringTooLong = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
	errWrongType     = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errNoKey         = "ERR no such key"
	errSameObject    = "ERR source and destination objects are the same"
	errOffsetRange   = "ERR offset is out of range"
	errDBIndexRange  = "ERR DB index is out of range"
	errNotPositive   = "ERR value is out of range, must be positive"
	errInvalidCursor = "ERR invalid cursor"
	errNoAuth        = "NOAUTH Authentication required."
	errWrongPass     = "WRONGPASS invalid username-password pair or user is disabled."
	errExecAbort     = "EXECABORT Transaction discarded because of previous errors."
	errSubscribeMode = "ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
	errMaxClients    = "ERR max number of clients reached"
	errBusyScript    = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
	errBusyFunction  = "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
	errOutOfMemory   = "OOM command not allowed when used memory > 'maxmemory'."
	errInternal      = "ERR internal error: this command failed and was logged; the connection is closed"
	// errLongRange is the answer to the one 64-bit integer that has no opposite.
	errLongRange = "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807"
)

// storeErrors maps what the store refuses to the words of the protocol.
var storeErrors = []struct {
	err  error
	text string
}{
	{store.ErrWrongType, errWrongType},
	{store.ErrNotInteger, errNotInteger},
	{store.ErrNotFloat, errNotFloat},
	{store.ErrOverflow, errOverflow},
	{store.ErrNaN, errNaNOrInfinity},
	{store.ErrScoreNaN, "ERR resulting score is not a number (NaN)"},
	{store.ErrStringTooLong, errStringTooLong},
	{store.ErrNoKey, errNoKey},
	{store.ErrIndexRange, "ERR index out of range"},
	{store.ErrNotHyperLogLog, "WRONGTYPE Key is not a valid HyperLogLog string value."},
	{store.ErrCorruptHyperLogLog, "INVALIDOBJ Corrupted HLL object detected"},
	{store.ErrNotSparse, "ERR HLL encoding is not sparse"},
	{store.ErrInfinite, "ERR value is NaN or Infinity"},
	{store.ErrFieldNotInteger, "ERR hash value is not an integer"},
	{store.ErrFieldNotFloat, "ERR hash value is not a float"},
	{store.ErrStreamExhausted, "ERR The stream has exhausted the last possible ID, unable to add more items"},
	{store.ErrIDTooSmall, "ERR The ID specified in XADD is equal or smaller than the target stream top item"},
	{store.ErrEntryTooLarge, "ERR Elements are too large to be stored"},
	{store.ErrIDBelowDeleted, "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id"},
	{store.ErrIDBelowTop, "ERR The ID specified in XSETID is smaller than the target stream top item"},
	{store.ErrAddedBelowLength, "ERR The entries_added specified in XSETID is smaller than the target stream length"},
	{store.ErrSortNumber, "ERR One or more scores can't be converted into double"},
}

// fail answers with an error: text begins with its code.
func (c *client) fail(text string) {
	c.failed = true
	c.slot.stats.countError(text)
	c.errorLine(text)
}

// failf is fail with a format.
func (c *client) failf(format string, a ...any) { c.fail(fmt.Sprintf(format, a...)) }

// failWith answers with the text for an error of the store.
func (c *client) failWith(err error) {
	for _, e := range storeErrors {
		if errors.Is(err, e.err) {
			c.fail(e.text)
			return
		}
	}
	c.fail("ERR " + err.Error())
}

// invalidExpire is what Redis says to an expiry of zero, in the past where that is refused, or beyond what 64 bits
// of milliseconds hold.
func invalidExpire(cmd *command) string {
	return fmt.Sprintf("ERR invalid expire time in '%s' command", cmd.fullName)
}

func arityError(cmd *command) string {
	return fmt.Sprintf("ERR wrong number of arguments for '%s' command", cmd.fullName)
}

func unknownSubcommand(parent *command, sub []byte) string {
	return fmt.Sprintf("ERR unknown subcommand '%s'. Try %s HELP.", clip(sub, 128), strings.ToUpper(parent.name))
}

// subcommandSyntax answers what Redis tells only in the handler: that a subcommand cannot be called like that.
func subcommandSyntax(cmd *command, sub []byte) string {
	return fmt.Sprintf("ERR unknown subcommand or wrong number of arguments for '%s'. Try %s HELP.", clip(sub, 128), strings.ToUpper(cmd.name))
}

// unknownCommand names the command and the beginning of its arguments, cut as Redis cuts them, so that a log
// line tells what a client tried.
func unknownCommand(args [][]byte) string {
	const argsBytesMax = 128
	var shown strings.Builder
	for _, a := range args[1:] {
		if shown.Len() >= argsBytesMax {
			break
		}
		fmt.Fprintf(&shown, "'%s' ", clip(a, argsBytesMax-shown.Len()))
	}
	return fmt.Sprintf("ERR unknown command '%s', with args beginning with: %s", clip(args[0], 128), shown.String())
}

// clip returns at most n bytes of b and ends at a NUL, as Redis's error texts do, which C prints.
func clip(b []byte, n int) []byte {
	b = b[:min(len(b), max(n, 0))]
	if end := bytes.IndexByte(b, 0); end >= 0 {
		b = b[:end]
	}
	return b
}
