package store

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kvserver/store/listpack"
	"kvserver/store/rdb"
	"kvserver/store/stream"
)

const payloadBytesMax = 1 << 20

// unhex reads hexadecimal digits; blanks do not count. {…} is a string: its length, below 64, and what is in the braces.
// […] is a listpack: its length in bytes, the number of elements and the elements that are in the brackets, and its end.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	open := strings.LastIndexAny(s, "{[")
	if open < 0 {
		b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	end := open + strings.IndexAny(s[open:], "}]")
	inner := unhex(t, s[open+1:end])
	if s[open] == '{' {
		inner = append([]byte{byte(len(inner))}, inner...)
	} else {
		inner = append(binary.LittleEndian.AppendUint32(nil, uint32(4+len(inner)+1)), inner...)
		inner = append(inner, 0xff)
	}
	return unhex(t, s[:open]+hex.EncodeToString(inner)+s[end+1:])
}

// restore restores the payload of a body.
func (v *View) restore(key string, body []byte, version uint16) error {
	return v.Restore([]byte(key), rdb.Seal(bytes.Clone(body), version), RestoreOptions{Replace: true, StringBytesMax: payloadBytesMax})
}

// contents returns a text of the value at a key that does not depend on its encoding.
func contents(t testing.TB, v *View, key string) string {
	t.Helper()
	k := []byte(key)
	e := v.Peek(k)
	var parts []string
	switch e.Type() {
	case "string":
		val, _, _ := v.PeekString(k)
		return fmt.Sprintf("%q", val)
	case "list":
		e.elements(0, Head, e.listLen()).Each(func(elem []byte) { parts = append(parts, fmt.Sprintf("%q", elem)) })
		return strings.Join(parts, " ")
	case "set":
		m := membersOf(e)
		v.eachMember(&m, func(member []byte) bool {
			parts = append(parts, fmt.Sprintf("%q", member))
			return true
		})
	case "zset":
		s := v.sortedOf(e)
		s.Each(0, s.Len(), false, func(member []byte, score float64) bool {
			parts = append(parts, fmt.Sprintf("%q:%v", member, score))
			return true
		})
		return strings.Join(parts, " ")
	case "hash":
		h := v.hashOf(e)
		h.Each(func(field, val []byte) bool {
			part := fmt.Sprintf("%q:%q", field, val)
			if h.large != nil {
				if at := deadlineOf(v.dictFind(&h.large.dict, field)); at != noDeadline {
					part += fmt.Sprintf("@%d", at)
				}
			}
			parts = append(parts, part)
			return true
		})
	case "stream":
		return streamContents(e.collection().(*largeStream).Stream)
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

func streamContents(s *stream.Stream) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d last %v deleted %v added %d:", s.Len(), s.Last(), s.MaxDeleted(), s.Added())
	for r := s.Range(stream.ID{}, stream.Max, false); r.Next(); {
		fmt.Fprintf(&b, " %v", r.ID())
		for range r.Fields() {
			field, val := r.Pair()
			fmt.Fprintf(&b, " %q:%q", field, val)
		}
	}
	for _, g := range s.Groups() {
		fmt.Fprintf(&b, "; group %q %v %d", g.Name, g.Last, g.Read)
		g.EachPending(stream.ID{}, func(p stream.Pending) bool {
			fmt.Fprintf(&b, " %v %q %d %d", p.ID, g.Owner(p).Name, p.DeliveredMs, p.Deliveries)
			return true
		})
		for _, c := range g.Consumers() {
			fmt.Fprintf(&b, ", %q seen %d: %d", c.Name, c.SeenMs, c.Pending())
		}
	}
	return b.String()
}

// settled removes the values, ends what the view does and checks that nothing is left of them.
func settled(t *testing.T, v *View) {
	t.Helper()
	for _, key := range []string{"k", "again", "copy"} {
		v.Remove([]byte(key))
	}
	v.Unlock()
	v.store.releasing.Wait()
	sane(t, v.store)
}

// redisPayloads are what DUMP of redis-server 7.0.15 gave, with the contents and the encoding that they have here. All but
// those of kinds that are written otherwise here must come back the same.
var redisPayloads = []struct {
	name, payload, contents, encoding string
	same                              bool
}{
	{"string", "0002686 90a00af6b9fe88e311b14", `"hi"`, "embstr", true},
	{"integer", "00c148f40a006ec0b42314cd69f7", `"-3000"`, "int", true},
	{"list", "12010210100000000300816102050182626303ff0a005105ce540ef372d5", `"a" "5" "bc"`, "listpack", true},
	{"list of nodes", "1203020d0d0000000200816102816202ff020d0d0000000200816302816402ff020a0a0000000100816502ff0a00ec5236a76020a1db",
		`"a" "b" "c" "d" "e"`, "listpack", false},
	{"list with a plain node", "1203020a0a0000000100816102ff01106c6f6e676572207468616e2066697665020a0a0000000100816202ff0a00ff0f1889abd3fab7",
		`"a" "longer than five" "b"`, "listpack", false},
	{"intset", "0b140400000003000000feffffff01000000701101000a0030527df8cc311f3b", `"-2" "1" "70000"`, "intset", true},
	{"set", "020301620161c0070a00451d3020559b1cb0", `"7" "a" "b"`, "listpack", true},
	{"packed zset", "1125250000000800816302842d696e6605816102010181620283322e350481640283696e6604ff0a0047fa9845b0a76805",
		`"c":-Inf "a":1 "b":2.5 "d":+Inf`, "listpack", true},
	{"zset", "05040164000000000000f07f016200000000000004400161000000000000f03f0163000000000000f0ff0a00e520124218be26e8",
		`"c":-Inf "a":1 "b":2.5 "d":+Inf`, "listpack", false},
	{"packed hash", "10171700000006008166028176028167020c018001816502ff0a0083a2db129c56a472", `"":"e" "f":"v" "g":"12"`, "listpack", true},
	{"hash", "0403016601760001650167c00c0a00ac6c9de23f3b1452", `"":"e" "f":"v" "g":"12"`, "listpack", false},
	{"stream", "130110000000000000000100000000000000013f3f00000018000201010101018166020001020100010001817602040101010101dfff0202018166028" +
		"1770281670281780208010201040100018179020401ff020501010102000302016705010302000000000000000100000000000000010068e5cf8b010000030000" +
		"0000000000050000000000000001cbc48b2ea2010000010205616c696365cbc48b2ea2010000010000000000000001000000000000000103626f62cbc48b2ea2" +
		"01000001000000000000000500000000000000010168050181ffffffffffffffff00010469646c65cbc48b2ea2010000000a003cfa925431990f7a",
		`2 last 5-1 deleted 2-0 added 3: 1-1 "f":"v" 5-1 "f":"y"; group "g" 5-1 3 1-1 "alice" 1700000000000 3 5-1 "bob" 1796077241547 1, ` +
			`"alice" seen 1796077241547: 1, "bob" seen 1796077241547: 1; group "h" 5-1 -1, "idle" seen 1796077241547: 0`, "stream", true},
	{"stream without entries", "13000005010000050101000a00c6649ea899ebb58d", `0 last 5-1 deleted 5-1 added 1:`, "stream", true},
}

func TestRestoreOfRedisPayloads(t *testing.T) {
	v := alone(t)
	for _, c := range redisPayloads {
		payload := unhex(t, c.payload)
		if err := v.Restore([]byte("k"), payload, RestoreOptions{Replace: true, StringBytesMax: payloadBytesMax}); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := contents(t, v, "k"); got != c.contents {
			t.Errorf("%s: got %s\nwant %s", c.name, got, c.contents)
		}
		if got := v.Peek([]byte("k")).Encoding(); got != c.encoding {
			t.Errorf("%s: encoding %s, want %s", c.name, got, c.encoding)
		}
		if back, ok := v.Dump([]byte("k")); !ok || c.same && !bytes.Equal(back, payload) {
			t.Errorf("%s: dumped as %x", c.name, back)
		}
	}
	settled(t, v)
}

// ziplistHex has "a", 5, "bc", 1000.
const ziplistHex = "18000000 13000000 0400  00 0161  03 f6  02 026263  04 c0e803 ff"

// blockHex is a block of a stream that has the entry 5-1 with the field "f" and the value "v".
const blockHex = "{00000000000000050000000000000001} {[0a00 0101 0001 0101 816602 0001 0201 0001 0001 817602 0401]}"

// otherPayloads are of types that Redis 7.0 does not write: older ones, and those of its successors.
var otherPayloads = []struct {
	name     string
	version  uint16
	body     string
	contents string
}{
	{"list", 6, "01 03 {61} c005 {6263}", `"a" "5" "bc"`},
	{"list as ziplist", 6, "0a {" + ziplistHex + "}", `"a" "5" "bc" "1000"`},
	{"list as ziplists", 7, "0e 02 {" + ziplistHex + "} {" + ziplistHex + "}", `"a" "5" "bc" "1000" "a" "5" "bc" "1000"`},
	{"list with an empty node", 10, "12 02 02 {[0000]} 02 {[0100 816102]}", `"a"`},
	{"hash as ziplist", 6, "0d {" + ziplistHex + "}", `"a":"5" "bc":"1000"`},
	{"hash as zipmap", 6, "09 {01 03666f6f 0300626172 ff}", `"foo":"bar"`},
	{"zset with scores in decimal", 7, "03 03 {61} 03312e35 {62} fe {63} ff", `"c":-Inf "a":1.5 "b":+Inf`},
	{"zset as ziplist", 6, "0c {" + ziplistHex + "}", `"a":5 "bc":1000`},
	{"set as listpack", 11, "14 {[0200 816102 0501]}", `"5" "a"`},
	{"stream of Redis 5", 9, "0f 01" + blockHex + "01 0501 01 {67} 0501 00 00", `1 last 5-1 deleted 0-0 added 1: 5-1 "f":"v"; group "g" 5-1 1`},
	{"stream of Redis 7.2", 11, "15 00 00 0501 0000 0000 01 01 {67} 0000 00 00 01 {63} 0100000000000000 ffffffffffffffff 00",
		`0 last 5-1 deleted 0-0 added 1:; group "g" 0-0 0, "c" seen 1: 0`},
	{"hash with deadlines", 12, "18 00c02cc899010000 03 00 {66} {76} 01 {67} {77} 4065 {68} {78}", `"f":"v" "g":"w"@1760000000000 "h":"x"@1760000000100`},
	{"hash with deadlines, some over", 12, "18 0100000000000000 02 00 {66} {76} 01 {67} {77}", `"f":"v"`},
	{"packed hash with deadlines", 12, "19 00c02cc899010000 {[0600 816602 817602 f400c02cc899010000 09 816702 817702 0001]}",
		`"f":"v"@1760000000000 "g":"w"`},
	{"hash with deadlines of Valkey", 80, "16 02 {66} {76} ffffffffffffffff {67} {77} 00c02cc899010000", `"f":"v" "g":"w"@1760000000000`},
}

func TestRestoreOfOtherPayloads(t *testing.T) {
	v := alone(t)
	for _, c := range otherPayloads {
		if err := v.restore("k", unhex(t, c.body), c.version); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want := contents(t, v, "k")
		if want != c.contents {
			t.Errorf("%s: got %s\nwant %s", c.name, want, c.contents)
		}
		payload, _ := v.Dump([]byte("k"))
		if err := v.Restore([]byte("again"), payload, RestoreOptions{Replace: true, StringBytesMax: payloadBytesMax}); err != nil || contents(t, v, "again") != want {
			t.Errorf("%s: dumped and restored: %s, %v", c.name, contents(t, v, "again"), err)
		}
	}
	settled(t, v)
}

// TestRestoreRefuses: nothing that commands could not have made gets in, whatever its checksum says.
func TestRestoreRefuses(t *testing.T) {
	const (
		entry  = "0f 01" + blockHex + "01 0501 "
		pel    = "00000000000000050000000000000001"
		zeros8 = "0000000000000000"
	)
	for _, c := range []struct {
		name, body string
		version    uint16
	}{
		{"nothing", "", 10},
		{"unknown type", "08 00", 10},
		{"module", "07 00", 10},
		{"end of file", "ff", 10},
		{"string cut", "00 05 6869", 10},
		{"string and more", "00 {6869} 00", 10},
		{"empty list", "01 00", 10},
		{"list cut", "01 02 {61}", 10},
		{"list longer than the payload", "01 81ffffffffffffffff {61}", 10},
		{"list of no nodes", "12 00", 10},
		{"list of empty nodes", "12 01 02 {[0000]}", 10},
		{"list with an empty plain node", "12 01 01 {}", 10},
		{"list with a node of unknown kind", "12 01 03 {[0100 816102]}", 10},
		{"list as an empty ziplist", "0a {0b000000 0a000000 0000 ff}", 10},
		{"list as a ziplist with a wrong count", "0a {0e000000 0a000000 0200 00 0161 ff}", 10},
		{"listpack with a wrong length", "12 01 02 {0e000000 0200 816102 0501 ff}", 10},
		{"listpack with a wrong count", "12 01 02 {[0300 816102 0501]}", 10},
		{"listpack without an end", "12 01 02 {0d000000 0200 816102 050100}", 10},
		{"listpack with an element beyond its end", "12 01 02 {[0200 816102 8501]}", 10},
		{"listpack with a wrong length of an element", "12 01 02 {[0200 816103 0501]}", 10},
		{"empty set", "02 00", 10},
		{"set with a member twice", "02 02 {61} {61}", 10},
		{"set with an integer twice", "02 02 c005 {35}", 10},
		{"set as listpack with a member twice", "14 {[0200 0501 0501]}", 11},
		{"set as listpack with an integer in two forms", "14 {[0200 0501 813502]}", 11},
		{"set as empty listpack", "14 {[0000]}", 11},
		{"intset empty", "0b {02000000 00000000}", 10},
		{"intset out of order", "0b {02000000 02000000 0200 0100}", 10},
		{"intset with an integer twice", "0b {02000000 02000000 0100 0100}", 10},
		{"intset of a wrong width", "0b {03000000 02000000 0100 0200}", 10},
		{"intset with a wrong length", "0b {02000000 03000000 0100 0200}", 10},
		{"empty zset", "05 00", 10},
		{"zset with NaN", "05 01 {61} 000000000000f87f", 10},
		{"zset with NaN in decimal", "03 01 {61} fd", 10},
		{"zset with a member twice", "05 02 {61}" + zeros8 + "{61} 000000000000f03f", 10},
		{"packed zset with an odd count", "11 {[0100 816102]}", 10},
		{"packed zset with a score that is none", "11 {[0200 816102 817802]}", 10},
		{"packed zset with NaN", "11 {[0200 816102 836e616e04]}", 10},
		{"packed zset out of order", "11 {[0400 816102 0201 816202 0101]}", 10},
		{"packed zset with a member twice", "11 {[0400 816102 0101 816102 0201]}", 10},
		{"empty packed zset", "11 {[0000]}", 10},
		{"empty hash", "04 00", 10},
		{"hash with a field twice", "04 02 {61} {62} {61} {63}", 10},
		{"hash cut", "04 02 {61} {62} {63}", 10},
		{"packed hash with an odd count", "10 {[0100 816102]}", 10},
		{"packed hash with a field twice", "10 {[0400 816102 0101 816102 0201]}", 10},
		{"empty packed hash", "10 {[0000]}", 10},
		{"zipmap with a field twice", "09 {02 0161 010062 0161 010063 ff}", 10},
		{"empty zipmap", "09 {00 ff}", 10},
		{"hash with deadlines of Valkey in a version of Redis", "16 01 {66} {76} ffffffffffffffff", 12},
		{"hash with deadlines of Redis in a version of Valkey", "18 00c02cc899010000 01 00 {66} {76}", 80},
		{"hash with negative deadlines of Valkey", "16 01 {66} {76} feffffffffffffff", 80},
		{"hash with a deadline beyond 64 bits", "18 ffffffffffffff7f 01 02 {66} {76}", 12},
		{"hash with a negative earliest deadline", "18 ffffffffffffffff 01 01 {66} {76}", 12},
		{"hash with deadlines and a field twice", "18 00c02cc899010000 02 01 {66} {76} 00 {66} {76}", 12},
		{"packed hash with a deadline that is none", "19 " + zeros8 + "{[0300 816102 816202 816302]}", 12},
		{"packed hash with two of three", "19 " + zeros8 + "{[0200 816102 816202]}", 12},
		{"stream with an ID of 15 bytes", strings.Replace(entry, "{00", "{", 1) + "00", 10},
		{"stream with a block twice", "0f 02" + blockHex + blockHex + "02 0501 00", 10},
		{"stream with a wrong length", "0f 01" + blockHex + "02 0501 00", 10},
		{"stream with a last ID before the last entry", "0f 01" + blockHex + "01 0500 00", 10},
		{"stream with fewer added than there are", "13 01" + blockHex + "01 0501 0501 0000 00 00", 10},
		{"stream with a deleted ID above the last", "13 01" + blockHex + "01 0501 0501 0600 01 00", 10},
		{"stream with entries in no block", "0f 00 01 0501 00", 10},
		{"stream with an empty block", "0f 01 {00000000000000050000000000000001} {[0000]} 00 0501 00", 10},
		{"stream with a wrong number of pieces", strings.Replace(entry, "0401]", "0501]", 1) + "00", 10},
		{"stream with more fields than there are", strings.Replace(entry, "0101 816602", "0201 816602", 1) + "00", 10},
		{"stream with a wrong count of entries", strings.Replace(entry, "0a00 0101", "0a00 0201", 1) + "00", 10},
		{"group twice", entry + "02 {67} 0000 00 00 {67} 0000 00 00", 10},
		{"pending for nobody", entry + "01 {67} 0501 01" + pel + zeros8 + "01 00", 10},
		{"pending twice", entry + "01 {67} 0501 02" + pel + zeros8 + "01" + pel + zeros8 + "01 01 {63}" + zeros8 + "01" + pel, 10},
		{"pending for two", entry + "01 {67} 0501 01" + pel + zeros8 + "01 02 {63}" + zeros8 + "01" + pel + "{64}" + zeros8 + "01" + pel, 10},
		{"pending for one and not in the group", entry + "01 {67} 0501 00 01 {63}" + zeros8 + "01" + pel, 10},
		{"consumer twice", entry + "01 {67} 0501 00 02 {63}" + zeros8 + "00 {63}" + zeros8 + "00", 10},
		{"consumer seen before time began", entry + "01 {67} 0501 00 01 {63} ffffffffffffffff 00", 10},
		{"deliveries beyond 63 bits", entry + "01 {67} 0501 01" + pel + zeros8 + "81ffffffffffffffff 01 {63}" + zeros8 + "01" + pel, 10},
		{"group that has read less than nothing", "13 01" + blockHex + "01 0501 0501 0000 01 01 {67} 0501 81fffffffffffffffe 00 00", 10},
	} {
		v := alone(t)
		v.mustSet("k", "old")
		if err := v.restore("k", unhex(t, c.body), c.version); err != rdb.ErrFormat {
			t.Errorf("%s: %v", c.name, err)
		}
		if val, _, _ := v.PeekString([]byte("k")); string(val) != "old" {
			t.Errorf("%s: the key was touched", c.name)
		}
		settled(t, v) // what had been made of it is gone
	}
}

func TestRestoreOptions(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	body := []byte{byte(rdb.String), 1, 'v'}
	payload := rdb.Seal(bytes.Clone(body), rdb.Version)
	restore := func(o RestoreOptions) {
		t.Helper()
		o.StringBytesMax = payloadBytesMax
		if err := v.Restore(k, payload, o); err != nil {
			t.Fatal(err)
		}
	}
	restore(RestoreOptions{ExpireAtMs: testNow + 1000, IdleSeconds: 100})
	if e := v.Peek(k); e.ExpireAt() != testNow+1000 || e.AccessWord() != v.clock()-100 {
		t.Errorf("deadline %d, last used %d", e.ExpireAt(), e.AccessWord())
	}
	restore(RestoreOptions{Replace: true})
	if e := v.Peek(k); e.ExpireAt() != -1 || e.AccessWord() != v.clock() {
		t.Errorf("replaced: deadline %d, last used %d", e.ExpireAt(), e.AccessWord())
	}
	restore(RestoreOptions{Replace: true, IdleSeconds: math.MaxInt64})
	if e := v.Peek(k); e.AccessWord() != secondsMin {
		t.Errorf("idle for ever: last used %d", e.AccessWord())
	}
	restore(RestoreOptions{Replace: true, ExpireAtMs: testNow})
	if v.Peek(k).Exists() {
		t.Error("restored though its time is over")
	}
	v.mustSet("k", "old")
	if err := v.restore("k", unhex(t, "18 0100000000000000 01 01 {67} {77}"), rdb.DeadlinesVersion); err != nil || v.Peek(k).Exists() {
		t.Errorf("a hash whose fields have all expired: %v", err)
	}
	if err := v.Restore(k, payload, RestoreOptions{}); err != rdb.ErrFormat {
		t.Errorf("a string longer than allowed: %v", err)
	}
	payload[len(payload)-1]++
	if err := v.Restore(k, payload, RestoreOptions{StringBytesMax: payloadBytesMax}); err != rdb.ErrFooter {
		t.Errorf("a wrong checksum: %v", err)
	}
	settled(t, v)
}

// TestRestoreOfLongListpacks: more elements than the header of a listpack can count, in the types that have listpacks.
func TestRestoreOfLongListpacks(t *testing.T) {
	const n = 70_000
	var lp []byte
	for i := range n {
		lp = listpack.AppendInt(lp, int64(i))
	}
	v := alone(t)
	for typ, want := range map[rdb.Type]struct {
		encoding string
		count    int
	}{rdb.ListQuicklist: {"quicklist", n}, rdb.SetListpack: {"hashtable", n}, rdb.HashListpack: {"hashtable", n / 2}, rdb.ZsetListpack: {"skiplist", n / 2}} {
		body := []byte{byte(typ)}
		if typ == rdb.ListQuicklist {
			body = rdb.AppendPacked(append(body, 1), lp)
		} else {
			body = rdb.AppendString(body, lp)
		}
		if err := v.restore("k", body, 11); err != nil {
			t.Fatalf("type %d: %v", typ, err)
		}
		e := v.Peek([]byte("k"))
		if got := strings.Count(contents(t, v, "k"), " ") + 1; got != want.count || e.Encoding() != want.encoding {
			t.Errorf("type %d: %d elements in a %s", typ, got, e.Encoding())
		}
	}
	settled(t, v)
}

func TestDumpOfExpiredFields(t *testing.T) {
	v := alone(t)
	k := []byte("k")
	v.HSet(k, words("a 1 b 2"))
	v.HExpire(k, testNow+1000, 0, words("a"), func(int64) {})
	v.Bind(0, testNow+1001, nil)
	payload, _ := v.Dump(k)
	if want := rdb.Seal(unhex(t, "04 01 {62} c002"), rdb.Version); !bytes.Equal(payload, want) {
		t.Errorf("dumped as %x, want %x", payload, want)
	}
	v.HExpire(k, testNow+2000, 0, words("b"), func(int64) {})
	v.Bind(0, testNow+2001, nil)
	if payload, ok := v.Dump(k); ok {
		t.Errorf("without fields it is dumped as %x", payload)
	}
}

// dumpKey makes a value of some type with n elements, of lengths on both sides of the limits.
func dumpKey(v *View, r *rand.Rand, key string, n int) {
	k := []byte(key)
	text := func() []byte {
		switch r.IntN(6) {
		case 0:
			return fmt.Append(nil, int64(r.Uint64())>>r.IntN(64))
		case 1:
			return []byte(strings.Repeat(string(rune('a'+r.IntN(3))), r.IntN(70)))
		case 2:
			if r.IntN(20) == 0 {
				return bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(3000))
			}
		}
		return fmt.Appendf(nil, "e%d", r.IntN(4*n))
	}
	texts := func(n int) (all [][]byte) {
		for range n {
			all = append(all, text())
		}
		return all
	}
	switch r.IntN(7) {
	case 0:
		v.Set(k, text(), SetOptions{})
	case 1:
		v.ListPush(k, Tail, texts(n), false)
	case 2:
		v.SAdd(k, texts(n))
	case 3:
		for range n {
			v.SAdd(k, [][]byte{fmt.Append(nil, int64(r.Uint64())>>r.IntN(64))})
		}
	case 4:
		for range n {
			score := []float64{r.NormFloat64(), float64(r.IntN(5)), math.Inf(1), r.ExpFloat64() * 1e300}[r.IntN(4)]
			v.ZAdd(k, []ZElement{{text(), score}}, ZAddOptions{})
		}
	case 5:
		v.HSet(k, texts(2*n))
		if r.IntN(3) == 0 {
			v.HExpire(k, testNow+1+r.Int64N(1e6), 0, texts(n), func(int64) {})
		}
	default:
		dumpStream(v, r, k, n, texts)
	}
}

func dumpStream(v *View, r *rand.Rand, k []byte, n int, texts func(int) [][]byte) {
	for i := range n {
		v.StreamAdd(k, texts(2+2*r.IntN(2)), &StreamAdd{ID: stream.ID{Ms: uint64(i/3 + 1), Seq: uint64(i + 1)}})
	}
	large := v.Peek(k).collection().(*largeStream)
	for i := range n {
		if r.IntN(4) == 0 && i < n-1 {
			large.Delete(stream.ID{Ms: uint64(i/3 + 1), Seq: uint64(i + 1)})
		}
	}
	for i := range r.IntN(3) {
		g := large.NewGroup(fmt.Append(nil, "group", i), stream.ID{Ms: uint64(n)}, int64(r.IntN(n+1))-1)
		c, d := g.NewConsumer([]byte("c"), testNow), g.NewConsumer([]byte("d"), testNow-5)
		c.ActiveMs, d.ActiveMs = c.SeenMs, d.SeenMs // Redis 7.0 has no place for it
		for j := range r.IntN(n + 1) {
			g.Assign([]*stream.Consumer{c, d}[r.IntN(2)], stream.ID{Ms: uint64(j/3 + 1), Seq: uint64(j + 1)}, testNow+int64(j), int64(j))
		}
	}
	v.recount(large)
}

// TestDumpRoundTrip: what is dumped is restored as it was, under other limits too.
func TestDumpRoundTrip(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	small := Encodings{ListMaxSize: 3, HashEntries: 4, HashValue: 10, SetInts: 4, SetEntries: 3, SetValue: 10, ZsetEntries: 4, ZsetValue: 10,
		StreamNodeEntries: 3}
	v := alone(t)
	for i := range 300 {
		n := 1 + r.IntN([]int{3, 10, 200, 700}[i%4])
		v.store.SetEncodings([]Encodings{DefaultEncodings, small}[r.IntN(2)])
		v.Remove([]byte("k"))
		dumpKey(v, r, "k", n)
		want := contents(t, v, "k")
		payload, ok := v.Dump([]byte("k"))
		if !ok {
			t.Fatalf("%d: no payload of %s", i, want)
		}
		v.store.SetEncodings([]Encodings{DefaultEncodings, small}[r.IntN(2)])
		if err := v.Restore([]byte("copy"), payload, RestoreOptions{Replace: true, StringBytesMax: payloadBytesMax}); err != nil {
			t.Fatalf("%d: %v: %x", i, err, payload)
		}
		if got := contents(t, v, "copy"); got != want {
			t.Fatalf("%d: a %s became\n%s\nof\n%s", i, v.Peek([]byte("k")).Type(), got, want)
		}
	}
	settled(t, v)
}

// TestRestoreNormalizes: a listpack may keep an integer as text. Here that would be another member than the integer.
func TestRestoreNormalizes(t *testing.T) {
	v := alone(t)
	if err := v.restore("h", unhex(t, "10 {[0200 813502 0501]}"), rdb.Version); err != nil {
		t.Fatal(err)
	}
	if want := listpack.AppendInt(listpack.AppendInt(nil, 5), 5); !bytes.Equal(v.Peek([]byte("h")).packed(), want) {
		t.Errorf("kept as %x", v.Peek([]byte("h")).packed())
	}
}
