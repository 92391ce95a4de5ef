package tests

import (
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The random commands of the differential test. Each line is a command: words
// in capitals stand for themselves, words in small letters are drawn from
// kinds, [a|b] is one of the alternatives or nothing, (a|b) is one of them, {a b}
// is one to four times its content, {+ a b} is dozens of times. A number in
// front says how much more often than others a line is taken.
//
// generalGrammar is about strings, keys and connections; those of the other
// types are in grammar_types_test.go.
var generalGrammar = grammarLines(`
6 SET key val [NX|XX] [GET] [EX sec|PX ms|EXAT at|PXAT atms|KEEPTTL]
4 SET key val [EX sec|PX ms|EXAT at|PXAT atms|KEEPTTL] [GET] [NX|XX]
3 SET key int
6 GET key
2 SETNX key val
1 SETEX key sec val
1 PSETEX key ms val
2 GETSET key val
2 GETDEL key
3 GETEX key [EX sec|PX ms|EXAT at|PXAT atms|PERSIST]
3 MGET {key}
3 MSET {key val}
2 MSETNX {key val}
4 APPEND key val
2 STRLEN key
4 INCR key
3 DECR key
3 INCRBY key int
3 DECRBY key int
4 INCRBYFLOAT key float
3 GETRANGE key index index
1 SUBSTR key index index
4 SETRANGE key offset val
3 LCS key key [IDX|LEN] [MINMATCHLEN small] [WITHMATCHLEN]
4 DEL {key}
2 UNLINK {key}
2 EXISTS {key}
1 TOUCH {key}
2 TYPE key
3 TTL key
2 PTTL key
2 EXPIRETIME key
2 PEXPIRETIME key
3 EXPIRE key sec [NX|XX|GT|LT] [NX|XX|GT|LT]
3 PEXPIRE key ms [NX|XX|GT|LT] [NX|XX|GT|LT]
2 EXPIREAT key at [NX|XX|GT|LT]
2 PEXPIREAT key atms [NX|XX|GT|LT]
2 PERSIST key
3 RENAME key key
3 RENAMENX key key
4 COPY key key [DB db] [REPLACE]
3 MOVE key db
1 SWAPDB db db
3 SELECT db
1 RANDOMKEY
1 DBSIZE
1 KEYS pattern
1 SCAN 0 COUNT 100000 [MATCH pattern] [TYPE type]
1 SCAN cursor [COUNT small] [MATCH pattern]
3 OBJECT ENCODING key
1 OBJECT REFCOUNT key
1 OBJECT IDLETIME key
1 OBJECT FREQ key
1 OBJECT word key
1 MEMORY USAGE key [SAMPLES small]
8 MULTI
9 EXEC
1 DISCARD
4 WATCH {key}
1 UNWATCH
1 PING [val]
1 ECHO val
1 RESET
1 HELLO 2
1 HELLO 3
1 HELLO proto
1 AUTH val
1 CLIENT ID
1 CLIENT GETNAME
1 CLIENT SETNAME val
1 CLIENT word val
1 COMMAND COUNT
1 COMMAND GETKEYS SET key val
1 COMMAND GETKEYS MGET {key}
1 COMMAND INFO word
1 CONFIG GET param
1 CONFIG word
1 TIME
1 word val
1 word {val}
`)

func grammarLines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

// rareGrammar empties databases, which would be dull if it came often.
var rareGrammar = []string{"1 FLUSHDB [ASYNC|SYNC|word]", "1 FLUSHALL [ASYNC|SYNC|word]"}

// kinds are what the words in small letters are drawn from. Few keys meet
// often; many of the rest are meant to be refused.
var kinds = allKinds()

func allKinds() map[string][]string {
	all := typeKinds()
	maps.Copy(all, generalKinds)
	return all
}

var generalKinds = map[string][]string{
	"key": {"a", "b", "c", "d", "e", "", "bin\x00\xff\r\n", "{t}x"},
	"val": {"", "v", "hello world", "0", "1", "-1", "10", "007", "-0", "+5", " 1", "1 ", "3.0", "1e3", "-2.50", "inf", "nan",
		"9223372036854775807", "-9223372036854775808", "9223372036854775808", "123456789012345678901234567890",
		"a\x00b", "\xff\xfe\r\n", strings.Repeat("x", 44), strings.Repeat("y", 45), strings.Repeat("abcab", 80)},
	"int": {"0", "1", "-1", "7", "100", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
		"4611686018427387904", "-4611686018427387904", "1.0", "1e2", "", "abc", "+1", "01", "-0", " 1", "0x1", "99999999999999999999"},
	"float": {"0", "1", "-1", "0.1", "-0.1", "3.14159", "1.5e3", "5.0e-1", "-5", "1e17", "0.0000001", "123456.789", "2.5e-8",
		"1e300", "abc", "", "inf", "-inf", "nan", " 1", "1 ", "0x10", ".5", "5.", "1e", "--1", "1_000", "infinity"},
	"index": {"0", "1", "-1", "2", "-2", "5", "-5", "100", "-100", "9223372036854775807", "-9223372036854775808",
		"9223372036854775808", "abc", "", "1.5"},
	"offset": {"0", "1", "5", "20", "300", "-1", "536870912", "9223372036854775807", "-9223372036854775808", "abc", ""},
	"small":  {"0", "1", "2", "3", "10", "-1", "abc", "", "9223372036854775807"},
	"sec": {"100", "1000", "500", "4294967296", "0", "-1", "-100", "9223372036854775807", "-9223372036854775808",
		"9223372036854775", "9223372036854776", "abc", "", "100.5", " 100"},
	"ms": {"100000", "1000000", "500000", "4294967296000", "0", "-1", "9223372036854775807", "-9223372036854775808", "abc", "", "1e6"},
	"at": {"4102444800", "4102444801", "5000000000", "1", "0", "-1", "9223372036854775807", "9223372036854776",
		"-9223372036854775808", "abc", ""},
	"atms": {"4102444800000", "4102444800123", "5000000000001", "1", "0", "-1", "9223372036854775807",
		"-9223372036854775808", "abc", ""},
	"db":      {"0", "1", "2", "0", "1", "2", "15", "16", "-1", "abc", "", "99999999999"},
	"pattern": {"*", "a", "?", "[a-c]", "[^a]", "b*", "\\*", "", "nothing", "*\xff*", "[", "a[", "[]", "[a", "[a-"},
	"type":    {"string", "STRING", "list", "hash", "set", "zset", "stream", "bogus"},
	"cursor":  {"0", "abc", "1.5", "99999999999999999999999"},
	"proto":   {"1", "4", "abc", "", "-1"},
	"param":   {"timeout", "nothing", "time[o]ut", "DATABASES", ""},
	"word":    {"nosuchcommand", "", "a b", "x\r\ny", "\x00", "-1", "$5"},
}

// mutationsPerThousand says how many commands are spoilt after they were made
// from the grammar.
const mutationsPerThousand = 120

// commandStream makes random commands.
type commandStream struct {
	r        *rand.Rand
	lines    []string // each as often as its weight
	payloads []string // what RESTORE is given
	lastID   int      // milliseconds of the newest stream entry
	// queues: there is MULTI among the lines, so that nothing may be sent whose
	// answer decides what is sent to the peer.
	queues bool
}

func newCommandStream(r *rand.Rand, grammar, payloads []string) *commandStream {
	s := &commandStream{r: r, payloads: payloads, queues: slices.Contains(grammar, "8 MULTI")}
	for _, line := range grammar {
		weight, text, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(weight)
		if err != nil {
			panic("grammar: " + line)
		}
		for range n {
			s.lines = append(s.lines, text)
		}
	}
	return s
}

// next returns one command whose answer does not depend on when it is sent, and
// before it what must be sent over the same connection to make that so.
func (s *commandStream) next() [][]string {
	for {
		line := s.lines[s.r.IntN(len(s.lines))]
		if s.r.IntN(200) == 0 {
			_, line, _ = strings.Cut(rareGrammar[s.r.IntN(len(rareGrammar))], " ")
		}
		args := s.expand(line)
		if s.r.IntN(1000) < mutationsPerThousand {
			args = s.mutate(args)
		}
		if len(args) > 0 && !dependsOnTime(args) && !tooLarge(args) && !outOfScope(args) && !(s.queues && popsAtRandom(args)) {
			return append(s.before(args), args)
		}
	}
}

// expand draws one command from a line of the grammar.
func (s *commandStream) expand(line string) []string {
	var args []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		var body string
		switch line[0] {
		case '[':
			body, line, _ = strings.Cut(line[1:], "]")
			if s.r.IntN(2) == 0 {
				args = append(args, s.oneOf(body)...)
			}
		case '(':
			body, line, _ = strings.Cut(line[1:], ")")
			args = append(args, s.oneOf(body)...)
		case '{':
			body, line, _ = strings.Cut(line[1:], "}")
			n := 1 + s.r.IntN(4)
			if many, ok := strings.CutPrefix(body, "+"); ok {
				body, n = many, 10+s.r.IntN(50)
			}
			for range n {
				args = append(args, s.expand(body)...)
			}
		default:
			body, line, _ = strings.Cut(line, " ")
			args = append(args, s.word(body))
		}
	}
	return args
}

func (s *commandStream) oneOf(body string) []string {
	options := strings.Split(body, "|")
	return s.expand(options[s.r.IntN(len(options))])
}

// word returns what a word of the grammar stands for.
func (s *commandStream) word(word string) string {
	if made, ok := s.made(word); ok {
		return made
	}
	if choices, ok := kinds[word]; ok {
		return choices[s.r.IntN(len(choices))]
	}
	if s.r.IntN(8) == 0 {
		return strings.ToLower(word)
	}
	return word
}

// mutate drops, doubles, exchanges or replaces an argument, never the name.
func (s *commandStream) mutate(args []string) []string {
	if len(args) == 1 {
		return append(args, "x")
	}
	args = slices.Clone(args)
	i, j := 1+s.r.IntN(len(args)-1), 1+s.r.IntN(len(args)-1)
	switch s.r.IntN(4) {
	case 0:
		return slices.Delete(args, i, i+1)
	case 1:
		return slices.Insert(args, i, args[j])
	case 2:
		args[i], args[j] = args[j], args[i]
	default:
		names := []string{"val", "int", "float", "index"}
		choices := kinds[names[s.r.IntN(len(names))]]
		args[i] = choices[s.r.IntN(len(choices))]
	}
	return args
}

// shortestTTLMs is a time that neither server reaches while a stream runs.
const shortestTTLMs = 90_000

// dependsOnTime finds times to live so short that the two servers, which get
// their commands at slightly different moments, may disagree.
func dependsOnTime(args []string) bool {
	short := func(i int, unitMs int64) bool {
		if i >= len(args) {
			return false
		}
		n, err := strconv.ParseInt(args[i], 10, 64)
		return err == nil && n > 0 && n < shortestTTLMs/unitMs
	}
	switch strings.ToUpper(args[0]) {
	case "SETEX", "EXPIRE":
		return short(2, 1000)
	case "PSETEX", "PEXPIRE", "RESTORE":
		return short(2, 1)
	case "SET", "GETEX":
		for i, a := range args {
			if strings.EqualFold(a, "EX") && short(i+1, 1000) || strings.EqualFold(a, "PX") && short(i+1, 1) {
				return true
			}
		}
	}
	return blocksLong(args) || idlesShort(args)
}

// tooLarge finds offsets that are allowed and would make strings of megabytes.
func tooLarge(args []string) bool {
	beyond := func(i int, allowed int64) bool {
		if i >= len(args) {
			return false
		}
		n, err := strconv.ParseInt(strings.TrimPrefix(args[i], "#"), 10, 64)
		return err == nil && n > allowed && n < 8*512<<20
	}
	switch commandName(args, 1) {
	case "SETRANGE":
		return beyond(2, 2000)
	case "SETBIT":
		return beyond(2, 16_000)
	case "BITFIELD":
		for i, a := range args {
			// An offset may be counted in fields of 64 bits.
			if bitfieldType.MatchString(a) && beyond(i+1, 300) {
				return true
			}
		}
	}
	return false
}

var bitfieldType = regexp.MustCompile(`^[iuIU][0-9]+$`)

// outOfScope finds what a mutation makes of harmless commands: those that end or
// silence the connection, pause the server, or list all that a server has; and
// what is random.
func outOfScope(args []string) bool {
	for _, excluded := range []string{"CLIENT KILL", "CLIENT PAUSE", "CLIENT REPLY", "COMMAND INFO", "COMMAND"} {
		if strings.EqualFold(strings.Join(args, " "), excluded) || commandName(args, 2) == excluded && excluded != "COMMAND INFO" {
			return true
		}
	}
	return foreignCursor(args) || typeOutOfScope(args)
}

// foreignCursor finds a cursor that some call of SCAN would have returned: it
// means something else to each server.
func foreignCursor(args []string) bool {
	at := 2
	switch commandName(args, 1) {
	case "SCAN":
		at = 1
	case "HSCAN", "SSCAN", "ZSCAN":
	default:
		return false
	}
	return len(args) > at && !slices.Contains(kinds["cursor"], args[at])
}
