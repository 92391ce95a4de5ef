package tests

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// intended names every difference allowed between our reply and the peer's, and
// why. A command that is not here must be answered with the same bytes. The
// first word, or the first two, of a command select a row.
var intended = map[string]struct {
	why  string
	same comparison
}{
	"TTL":             {"time passes between asking one and the other", within(2)},
	"PTTL":            {"time passes between asking one and the other", within(2000)},
	"EXPIRETIME":      {"a relative time was set at slightly different moments", within(2)},
	"PEXPIRETIME":     {"a relative time was set at slightly different moments", within(2000)},
	"OBJECT IDLETIME": {"time passes between asking one and the other", within(2)},
	"OBJECT REFCOUNT": {"a copy of a small integer is not the shared object in Redis 7.0; it is since 8.0, and here", sameShape},
	"OBJECT ENCODING": {"small lists and sets are listpacks since 7.2, and what one command adds converts at once", sameEncoding},
	"MEMORY USAGE":    {"the layout in memory is ours, and Redis measures expired keys that it has not removed yet", sizeOrGone},
	"RANDOMKEY":       {"random", sameShape},
	"DBSIZE":          {"Redis counts keys that are expired and not yet removed; we remove a key set to a time in the past at once", atMost},
	"KEYS":            {"the order of a hash table", sameSet},
	"SCAN":            {"the order of a hash table, and what a cursor means", sameScan},
	"SSCAN":           {"the order of a hash table, and what a cursor means", sameScan},
	"HSCAN":           {"the order of a hash table, and what a cursor means", sameScan},
	"ZSCAN":           {"the order of a hash table, and what a cursor means", sameScan},
	"HELLO":           {"name, version and connection number are the server's own", sameShape},
	"TIME":            {"time passes between asking one and the other", sameShape},
	"CLIENT ID":       {"connections are numbered by each server", sameShape},
	"COMMAND COUNT":   {"we have fewer commands, and some of Valkey's", sameShape},
	"COMMAND INFO":    {"compared command by command in TestCommandInfo", sameShape},
	"OBJECT HELP":     {"help texts are our own", sameShape},
	"CLIENT HELP":     {"help texts are our own", sameShape},
	"CONFIG HELP":     {"help texts are our own", sameShape},
	"XGROUP HELP":     {"help texts are our own", sameShape},
	"XINFO HELP":      {"help texts are our own", sameShape},
	"CONFIG GET":      {"the order of a hash table", samePairs},
	"CONFIG SET":      {"sets have no listpacks in 7.0, numbers that are too long have a message of their own, and messages end at a zero byte", sameSetting},

	"SMEMBERS": {"the order of a hash table", sameSet},
	"SINTER":   {"the order of a hash table", sameSet},
	"SUNION":   {"the order of a hash table", sameSet},
	"SDIFF":    {"the order of a hash table", sameSet},
	"SPOP":     {"the order of a hash table; only whole sets are popped here, or see lane.pop", sameSet},
	"HKEYS":    {"the order of a hash table", sameSet},
	"HVALS":    {"the order of a hash table", sameSet},
	"HGETALL":  {"the order of a hash table", samePairs},

	"SRANDMEMBER": {"random", sameDraw},
	"HRANDFIELD":  {"random", sameDraw},
	"ZRANDMEMBER": {"random", sameDraw},

	"SORT":    {"the order of elements of equal weight", sameSort},
	"SORT_RO": {"the order of elements of equal weight", sameSort},
	"DUMP":    {"versions and encodings differ; what the payloads hold is compared by TestDifferential", sameShape},

	"GEOSEARCH":            {"the order in which the cells are searched", sameFound},
	"GEORADIUS":            {"the order in which the cells are searched", sameFound},
	"GEORADIUS_RO":         {"the order in which the cells are searched", sameFound},
	"GEORADIUSBYMEMBER":    {"the order in which the cells are searched", sameFound},
	"GEORADIUSBYMEMBER_RO": {"the order in which the cells are searched", sameFound},

	"BITCOUNT": {"the arguments are looked at before the key since 7.2", argumentsFirst},
	"BITPOS":   {"the arguments are looked at before the key since 7.2", argumentsFirst},

	"PFDEBUG": {"long words are cut in messages", bothBegin("ERR Unknown PFDEBUG subcommand ")},

	"XREAD":      {"reworded in 7.2", bothBegin("ERR Unbalanced ")},
	"XREADGROUP": {"reworded in 7.2", bothBegin("ERR Unbalanced ")},

	"XSETID": {"one condition came with 7.2, and is looked at first", bothBegin("ERR The ID specified in XSETID is smaller than ")},

	"XINFO STREAM": {"times, the numbers of a radix tree, what came with 7.2, and what was read, counted with more care since",
		sameButFor("radix-tree-keys", "radix-tree-nodes", "seen-time", "active-time", "lag", "entries-read")},
	"XINFO GROUPS":    {"what was read is counted with more care since 7.0", sameButFor("lag", "entries-read")},
	"XINFO CONSUMERS": {"times, and a field that came with 7.2", sameButFor("idle", "inactive")},
	"XPENDING":        {"time passes between asking one and the other", samePending},
}

// comparison says whether two replies to a command may both be right.
type comparison func(args []string, ours, theirs value) bool

func within(tolerance int64) comparison {
	return func(_ []string, ours, theirs value) bool {
		a, ok := ours.int()
		b, ok2 := theirs.int()
		// Below zero stand the answers "no such key" and "no time to live".
		return ok && ok2 && a >= 0 && b >= 0 && a-b <= tolerance && b-a <= tolerance
	}
}

func atMost(_ []string, ours, theirs value) bool {
	a, ok := ours.int()
	b, ok2 := theirs.int()
	return ok && ok2 && a <= b
}

func sizeOrGone(args []string, ours, theirs value) bool {
	return sameShape(args, ours, theirs) || (ours.null || ours.kind == '_') && theirs.kind == ':'
}

func sameShape(_ []string, ours, theirs value) bool {
	return ours.shape().String() == theirs.shape().String()
}

func sameSet(_ []string, ours, theirs value) bool {
	return ours.sorted().String() == theirs.sorted().String()
}

// samePairs compares fields and values that alternate.
func samePairs(_ []string, ours, theirs value) bool {
	return ours.kind == theirs.kind && ours.null == theirs.null && ours.inPairs().sorted().String() == theirs.inPairs().sorted().String()
}

// inPairs makes an array of pairs of what is flat, or a map.
func (v value) inPairs() value {
	pairs := value{kind: '*', null: v.null, text: v.text}
	for i := 0; i < len(v.elems); i += 2 {
		pairs.elems = append(pairs.elems, value{kind: '*', elems: v.elems[i:min(i+2, len(v.elems))]})
	}
	return pairs
}

func sameScan(args []string, ours, theirs value) bool {
	if len(ours.elems) != 2 || len(theirs.elems) != 2 {
		return false
	}
	if ours.elems[0].text != "0" || theirs.elems[0].text != "0" {
		return ours.elems[0].kind == '$' && theirs.elems[0].kind == '$'
	}
	if name := commandName(args, 1); name == "HSCAN" || name == "ZSCAN" {
		return samePairs(args, ours.elems[1], theirs.elems[1])
	}
	return sameSet(args, ours.elems[1], theirs.elems[1])
}

// sameEncoding allows what 7.2 changed. Which encoding it must be exactly, the
// tests of each type say.
func sameEncoding(_ []string, ours, theirs value) bool {
	switch theirs.text {
	case "quicklist":
		return ours.text == "listpack"
	case "intset":
		return ours.text == "listpack" || ours.text == "hashtable"
	case "hashtable":
		return ours.text == "listpack"
	case "listpack":
		return ours.text == "hashtable" || ours.text == "skiplist"
	}
	return false
}

func sameSetting(args []string, ours, theirs value) bool {
	return bothBegin("ERR CONFIG SET failed ")(args, ours, theirs) || bothBegin("ERR Unknown option ")(args, ours, theirs) || len(args) > 2 && strings.HasPrefix(strings.ToLower(args[2]), "set-max-listpack-") && theirs.kind == '-'
}

// argumentsFirst allows an error where the peer did not get as far as the arguments:
// the key is missing, or of another type.
func argumentsFirst(_ []string, ours, theirs value) bool {
	n, isInt := theirs.int()
	return ours.kind == '-' && (isInt && n <= 0 || strings.HasPrefix(theirs.text, "WRONGTYPE "))
}

func bothBegin(prefix string) comparison {
	return func(_ []string, ours, theirs value) bool {
		return ours.kind == '-' && theirs.kind == '-' && strings.HasPrefix(ours.text, prefix) && strings.HasPrefix(theirs.text, prefix)
	}
}

// sameDraw compares what was drawn at random from the same collection: how many,
// whether they are distinct where they must be, and if it was all of them, which.
func sameDraw(args []string, ours, theirs value) bool {
	if ours.kind != theirs.kind || ours.null != theirs.null || len(ours.elems) != len(theirs.elems) {
		return false
	}
	if len(args) < 3 || ours.kind != '*' && ours.kind != '~' {
		return ours.kind == '$'
	}
	a, b := ours, theirs
	if len(args) > 3 && len(a.elems) > 0 && a.elems[0].kind != '*' {
		a, b = a.inPairs(), b.inPairs()
	}
	count, err := strconv.Atoi(args[2])
	if err != nil || count < 0 {
		return err == nil && len(a.elems) == -count
	}
	if len(a.elems) < count { // all there are
		return sameSet(args, a, b)
	}
	drawn := a.sorted().elems
	return len(slices.CompactFunc(drawn, func(x, y value) bool { return x.String() == y.String() })) == len(a.elems)
}

// sameSort leaves the order open where SORT does, and if that decides which
// elements are within a LIMIT, only their number is compared.
func sameSort(args []string, ours, theirs value) bool {
	if !hasWord(args, "BY") || ours.kind != theirs.kind {
		return false
	}
	if hasWord(args, "LIMIT") {
		return len(ours.elems) == len(theirs.elems)
	}
	return sameSet(args, ours, theirs)
}

// sameFound leaves the order of equal distances open, and any if none was asked
// for. If that or ANY decides which ones are within a COUNT, their number and
// distances are compared.
func sameFound(args []string, ours, theirs value) bool {
	if ours.kind != theirs.kind || ours.null != theirs.null || len(ours.elems) != len(theirs.elems) {
		return false
	}
	sorted := hasWord(args, "ASC") || hasWord(args, "DESC") || hasWord(args, "COUNT")
	if hasWord(args, "WITHDIST") && sorted && !hasWord(args, "ANY") {
		for i := range ours.elems {
			if !closeNumbers(ours.elems[i].elems[1], theirs.elems[i].elems[1]) {
				return false
			}
		}
	}
	return hasWord(args, "COUNT") || sameSet(args, ours, theirs)
}

// sameButFor compares maps, flat or not, at any depth, without some fields and
// without the times of deliveries.
func sameButFor(names ...string) comparison {
	return func(_ []string, ours, theirs value) bool {
		return ours.without(names).String() == theirs.without(names).String()
	}
}

func (v value) without(names []string) value {
	const millisecondDigits = 13 // of a time of our days
	if v.kind == ':' && len(v.text) == millisecondDigits {
		v.text = "time"
	}
	if v.elems == nil {
		return v
	}
	var kept []value
	for i := 0; i < len(v.elems); i++ {
		if e := v.elems[i]; e.kind == '$' && slices.Contains(names, e.text) && i+1 < len(v.elems) {
			i++
			continue
		}
		kept = append(kept, v.elems[i].without(names))
	}
	v.elems = kept
	return v
}

// samePending compares rows of XPENDING without the times.
func samePending(_ []string, ours, theirs value) bool {
	timeless := func(v value) string {
		v.elems = slices.Clone(v.elems)
		for i, row := range v.elems {
			if len(row.elems) == 4 && row.elems[2].kind == ':' {
				row.elems = slices.Delete(slices.Clone(row.elems), 2, 3)
				v.elems[i] = row
			}
		}
		return v.String()
	}
	return timeless(ours) == timeless(theirs)
}

// closeNumbers compares replies in which numbers that are not whole may differ in
// their last digits: sines and cosines do from one library to another.
func closeNumbers(ours, theirs value) bool {
	if ours.kind != theirs.kind || ours.null != theirs.null || len(ours.elems) != len(theirs.elems) {
		return false
	}
	for i := range ours.elems {
		if !closeNumbers(ours.elems[i], theirs.elems[i]) {
			return false
		}
	}
	if ours.text == theirs.text {
		return true
	}
	a, errA := strconv.ParseFloat(ours.text, 64)
	b, errB := strconv.ParseFloat(theirs.text, 64)
	// Distances are printed with four digits behind the point.
	return errA == nil && errB == nil && ours.kind != ':' && math.Abs(a-b) <= max(1.0001e-4, 1e-12*math.Abs(b))
}

// printsScores finds the commands that print scores: 7.0 with 17 digits, 7.2 with
// as few as tell them from others.
func printsScores(args []string) bool {
	name := commandName(args, 1)
	return strings.HasPrefix(name, "Z") || strings.HasPrefix(name, "BZ")
}

// canonical writes all numbers alike, and without the sign of zero, which depends on
// the encoding.
func (v value) canonical() value {
	if v.kind == '$' || v.kind == ',' {
		if f, err := strconv.ParseFloat(v.text, 64); err == nil {
			v.text = strconv.FormatFloat(f+0, 'g', -1, 64)
		}
	}
	v.elems = slices.Clone(v.elems)
	for i := range v.elems {
		v.elems[i] = v.elems[i].canonical()
	}
	return v
}

// sameValue compares two replies to a command.
func sameValue(args []string, ours, theirs value) bool {
	if ours.String() == theirs.String() {
		return true
	}
	if printsScores(args) {
		if ours, theirs = ours.canonical(), theirs.canonical(); ours.String() == theirs.String() {
			return true
		}
	}
	row, ok := intended[commandName(args, 2)]
	if !ok {
		row = intended[commandName(args, 1)]
	}
	return row.same != nil && row.same(args, ours, theirs)
}

func commandName(args []string, words int) string {
	return strings.ToUpper(strings.Join(args[:min(words, len(args))], " "))
}
