package server

import (
	"maps"
	"slices"
	"strings"
)

// doc is what COMMAND DOCS tells about a command beyond its row.
//
// syntax is the command line as documentation prints it, with what clients want to know besides:
//
//	word                a string argument; word:type one of another type, word:key a key
//	word:type#n         key specification n finds it, or what is made of it
//	TOKEN               a word to be given literally
//	word:TOKEN          the same under another name than its own in small letters
//	TOKEN word          an argument after such a word
//	name=TOKEN          such a word under a name of its own
//	[x]                 an optional argument
//	name=(a|b)          one of several; name=(a b) all of them together; with [] instead of () optional
//	x...                any number of times
//	TOKEN x+...         any number of times, with the token each time
//	x@6.2.0, x!6.2.0    known, or deprecated, since that version
//
// It is read when a client asks, which is once per redis-cli; a test reads all of them.
type doc struct {
	complexity string
	syntax     string
	tips       string // for proxies and cluster clients (COMMAND INFO), separated by blanks
	deprecated string // since which version
	instead    string // what to use then
}

const (
	perShardOK  = "request_policy:multi_shard response_policy:all_succeeded"
	perShardSum = "request_policy:multi_shard response_policy:agg_sum"
	allShardsOK = "request_policy:all_shards response_policy:all_succeeded"
	unstable    = "nondeterministic_output"
	unordered   = "nondeterministic_output_order"

	expireCondition = "condition=[NX|XX|GT|LT]@7.0.0"
	dependsOnSub    = "Depends on subcommand."
	perValueByte    = "O(N) where N is the length of the value."
	perReturnedByte = "O(N) where N is the length of the returned string."
	perKey          = "O(N) where N is the number of keys."
	perClient       = "O(N) where N is the number of client connections."
	perCommand      = "O(N) where N is the number of commands."
)

// clientFilters is what CLIENT KILL and CLIENT LIST select by.
var clientFilters = []string{
	"[ID id=(client-id:integer...)]",
	"[TYPE normal_master_slave_pubsub=(NORMAL|MASTER@3.2.0|SLAVE|REPLICA@5.0.0|PUBSUB)@2.8.12]", "[USER username]",
	"[ADDR ip:port]", "[LADDR ip:port@6.2.0]", "[SKIPME yes/no]", "[MAXAGE maxage:integer@7.4.0]", "[NAME name@9.0.0]",
	"[IDLE idle:integer@9.0.0]", "[FLAGS flags@9.0.0]", "[LIB-NAME lib-name@9.0.0]", "[LIB-VER lib-ver@9.0.0]",
	"[DB db:integer@9.0.0]", "[CAPA capa@9.0.0]", "[IP ip@9.0.0]", "[NOT-ID not-client-id=(client-id:integer...)@9.0.0]",
	"[NOT-TYPE not-type=(NORMAL|MASTER|REPLICA|PUBSUB)@9.0.0]", "[NOT-ADDR not-ip:port@9.0.0]",
	"[NOT-LADDR not-ip:port@9.0.0]", "[NOT-USER not-username@9.0.0]", "[NOT-FLAGS not-flags@9.0.0]",
	"[NOT-NAME not-name@9.0.0]", "[NOT-LIB-NAME not-lib-name@9.0.0]", "[NOT-LIB-VER not-lib-ver@9.0.0]",
	"[NOT-DB not-db:integer@9.0.0]", "[NOT-CAPA not-capa@9.0.0]", "[NOT-IP not-ip@9.0.0]",
}

// docs has an entry for every command and subcommand, by full name.
var docs = joinDocs(generalDocs, listDocs, hashDocs, setDocs, zsetDocs, streamDocs, bitmapDocs, hyperloglogDocs, geoDocs,
	dumpDocs, sortDocs, pubsubDocs, commandlogDocs, latencyDocs, monitorDocs, aclDocs, scriptingDocs, functionDocs)

func joinDocs(families ...map[string]doc) map[string]doc {
	all := map[string]doc{}
	for _, family := range families {
		maps.Copy(all, family)
	}
	return all
}

var generalDocs = map[string]doc{
	"append":      {complexity: "O(N) where N is the length of the value appended, amortized.", syntax: "key:key value"},
	"decr":        {complexity: "O(1)", syntax: "key:key"},
	"decrby":      {complexity: "O(1)", syntax: "key:key decrement:integer"},
	"delifeq":     {complexity: perValueByte, syntax: "key:key value"},
	"get":         {complexity: "O(1)", syntax: "key:key"},
	"getdel":      {complexity: "O(1)", syntax: "key:key"},
	"getex":       {complexity: "O(1)", syntax: "key:key expiration=[EX seconds:integer|PX milliseconds:integer|EXAT unix-time-seconds:unix-time|PXAT unix-time-milliseconds:unix-time|PERSIST]"},
	"getrange":    {complexity: perReturnedByte, syntax: "key:key start:integer end:integer"},
	"getset":      {complexity: "O(1)", syntax: "key:key value", deprecated: "6.2.0", instead: "`SET` with the `!GET` argument"},
	"incr":        {complexity: "O(1)", syntax: "key:key"},
	"incrby":      {complexity: "O(1)", syntax: "key:key increment:integer"},
	"incrbyfloat": {complexity: "O(1)", syntax: "key:key increment:double"},
	"lcs":         {complexity: "O(N*M) where N and M are the lengths of the two strings.", syntax: "key1:key key2:key [LEN] [IDX] [MINMATCHLEN len:integer] [WITHMATCHLEN]"},
	"mget":        {complexity: perKey, syntax: "key:key...", tips: "request_policy:multi_shard"},
	"mset":        {complexity: perKey, syntax: "key_value=(key:key value)...", tips: perShardOK},
	"msetnx":      {complexity: perKey, syntax: "key_value=(key:key value)...", tips: "request_policy:multi_shard response_policy:agg_min"},
	"psetex":      {complexity: "O(1)", syntax: "key:key milliseconds:integer value"},
	"set":         {complexity: "O(1)", syntax: "key:key value condition=[NX|XX|IFEQ comparison-value@8.1.0]@2.6.12 [GET@6.2.0] expiration=[EX seconds:integer@2.6.12|PX milliseconds:integer@2.6.12|EXAT unix-time-seconds:unix-time@6.2.0|PXAT unix-time-milliseconds:unix-time@6.2.0|KEEPTTL@6.0.0]"},
	"setex":       {complexity: "O(1)", syntax: "key:key seconds:integer value"},
	"setnx":       {complexity: "O(1)", syntax: "key:key value"},
	"setrange":    {complexity: perValueByte, syntax: "key:key offset:integer value"},
	"strlen":      {complexity: "O(1)", syntax: "key:key"},
	"substr":      {complexity: perReturnedByte, syntax: "key:key start:integer end:integer", deprecated: "2.0.0", instead: "`GETRANGE`"},

	"copy":            {complexity: perValueByte, syntax: "source:key destination:key [DB destination-db:integer] [REPLACE]"},
	"del":             {complexity: perKey, syntax: "key:key...", tips: perShardSum},
	"exists":          {complexity: perKey, syntax: "key:key...", tips: perShardSum},
	"expire":          {complexity: "O(1)", syntax: "key:key seconds:integer " + expireCondition},
	"expireat":        {complexity: "O(1)", syntax: "key:key unix-time-seconds:unix-time " + expireCondition},
	"expiretime":      {complexity: "O(1)", syntax: "key:key"},
	"keys":            {complexity: "O(N) where N is the number of keys in the database.", syntax: "pattern:pattern", tips: "request_policy:all_shards " + unordered},
	"move":            {complexity: "O(1)", syntax: "key:key db:integer"},
	"object":          {complexity: dependsOnSub},
	"object|encoding": {complexity: "O(1)", syntax: "key:key", tips: unstable},
	"object|freq":     {complexity: "O(1)", syntax: "key:key", tips: unstable},
	"object|help":     {complexity: "O(1)"},
	"object|idletime": {complexity: "O(1)", syntax: "key:key", tips: unstable},
	"object|refcount": {complexity: "O(1)", syntax: "key:key", tips: unstable},
	"persist":         {complexity: "O(1)", syntax: "key:key"},
	"pexpire":         {complexity: "O(1)", syntax: "key:key milliseconds:integer " + expireCondition},
	"pexpireat":       {complexity: "O(1)", syntax: "key:key unix-time-milliseconds:unix-time " + expireCondition},
	"pexpiretime":     {complexity: "O(1)", syntax: "key:key"},
	"pttl":            {complexity: "O(1)", syntax: "key:key", tips: unstable},
	"randomkey":       {complexity: "O(1)", tips: "request_policy:all_shards " + unstable},
	"rename":          {complexity: "O(1)", syntax: "key:key newkey:key"},
	"renamenx":        {complexity: "O(1)", syntax: "key:key newkey:key"},
	"scan":            {complexity: "O(1) for every call, O(N) for a whole iteration, where N is the number of keys in the database.", syntax: "cursor:integer [MATCH pattern:pattern] [COUNT count:integer] [TYPE type@6.0.0]", tips: unstable + " request_policy:special"},
	"touch":           {complexity: perKey, syntax: "key:key...", tips: perShardSum},
	"ttl":             {complexity: "O(1)", syntax: "key:key", tips: unstable},
	"type":            {complexity: "O(1)", syntax: "key:key"},
	"unlink":          {complexity: perKey, syntax: "key:key...", tips: perShardSum},

	"auth":                 {complexity: "O(1)", syntax: "[username@6.0.0] password"},
	"client":               {complexity: dependsOnSub},
	"client|caching":       {complexity: "O(1)", syntax: "mode=(YES|NO)"},
	"client|capa":          {complexity: "O(1)", syntax: "capability..."},
	"client|getname":       {complexity: "O(1)"},
	"client|getredir":      {complexity: "O(1)"},
	"client|help":          {complexity: "O(1)"},
	"client|id":            {complexity: "O(1)"},
	"client|import-source": {complexity: "O(1)", syntax: "enabled=(ON|OFF)"},
	"client|info":          {complexity: "O(1)", tips: unstable},
	"client|kill":          {complexity: perClient, syntax: "filter=(ip:port!2.8.12|new-format=(" + strings.Join(clientFilters, "|") + ")...)"},
	"client|list":          {complexity: perClient, syntax: strings.Join(clientFilters, " "), tips: unstable},
	"client|no-evict":      {complexity: "O(1)", syntax: "enabled=(ON|OFF)"},
	"client|no-touch":      {complexity: "O(1)", syntax: "enabled=(ON|OFF)"},
	"client|pause":         {complexity: "O(1)", syntax: "timeout:integer mode=[WRITE|ALL]@6.2.0"},
	"client|reply":         {complexity: "O(1)", syntax: "on_off_skip=(ON|OFF|SKIP)"},
	"client|setinfo":       {complexity: "O(1)", syntax: "attr=(LIB-NAME libname|LIB-VER libver)", tips: "request_policy:all_nodes response_policy:all_succeeded"},
	"client|setname":       {complexity: "O(1)", syntax: "connection-name"},
	"client|tracking":      {complexity: "O(1). Some options may introduce additional complexity.", syntax: "status=(ON|OFF) [REDIRECT client-id:integer] [PREFIX prefix+...] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]"},
	"client|trackinginfo":  {complexity: "O(1)"},
	"client|unblock":       {complexity: "O(log N) where N is the number of client connections.", syntax: "client-id:integer timeout_error=[TIMEOUT|ERROR]"},
	"client|unpause":       {complexity: "O(N) where N is the number of paused clients."},
	"echo":                 {complexity: perValueByte, syntax: "message"},
	"hello":                {complexity: "O(1)", syntax: "arguments=[protover:integer [AUTH username_password=(username password)] [SETNAME clientname]]"},
	"ping":                 {complexity: "O(1)", syntax: "[message]", tips: allShardsOK},
	"quit":                 {complexity: "O(1)"},
	"reset":                {complexity: "O(1)"},
	"select":               {complexity: "O(1)", syntax: "index:integer"},

	"discard": {complexity: "O(N) where N is the number of queued commands."},
	"exec":    {complexity: "Depends on commands in the transaction"},
	"multi":   {complexity: "O(1)"},
	"unwatch": {complexity: "O(N) where N is the number of watched keys."},
	"watch":   {complexity: perKey, syntax: "key:key..."},

	"command":                 {complexity: perCommand, tips: unordered},
	"command|count":           {complexity: "O(1)"},
	"command|docs":            {complexity: perCommand, syntax: "[command-name...]", tips: unordered},
	"command|getkeys":         {complexity: "O(N) where N is the number of arguments."},
	"command|getkeysandflags": {complexity: "O(N) where N is the number of arguments."},
	"command|help":            {complexity: "O(1)"},
	"command|info":            {complexity: perCommand, syntax: "[command-name...]", tips: unordered},
	"command|list":            {complexity: perCommand, syntax: "[FILTERBY filterby=(MODULE module-name|ACLCAT category|PATTERN pattern:pattern)]", tips: unordered},
	"config":                  {complexity: dependsOnSub},
	"config|get":              {complexity: "O(N) where N is the number of parameters.", syntax: "parameter=(parameter)..."},
	"config|help":             {complexity: "O(1)"},
	"config|resetstat":        {complexity: "O(1)"},
	"config|rewrite":          {complexity: "O(N) where N is the length of the file."},
	"config|set":              {complexity: "O(N) where N is the number of parameters.", syntax: "parameter_value=(parameter value)...", tips: "request_policy:all_nodes response_policy:all_succeeded"},
	"dbsize":                  {complexity: "O(1)", tips: "request_policy:all_shards response_policy:agg_sum"},
	"debug":                   {complexity: dependsOnSub},
	"flushall":                {complexity: "O(1), the memory is freed in the background.", syntax: "async=[ASYNC@4.0.0|SYNC@6.2.0]", tips: allShardsOK},
	"flushdb":                 {complexity: "O(1), the memory is freed in the background.", syntax: "async=[ASYNC@4.0.0|SYNC@6.2.0]", tips: allShardsOK},
	"info":                    {complexity: "O(N) where N is the number of sections.", syntax: "[section...]", tips: unstable + " request_policy:all_shards response_policy:special"},
	"lolwut":                  {complexity: "O(N) where N is the size of the picture.", syntax: "[VERSION version:integer]"},
	"memory":                  {complexity: dependsOnSub},
	"memory|doctor":           {complexity: perClient, tips: unstable + " request_policy:all_shards response_policy:special"},
	"memory|help":             {complexity: "O(1)"},
	"memory|malloc-stats":     {complexity: "O(1)", tips: unstable + " request_policy:all_shards response_policy:special"},
	"memory|purge":            {complexity: "O(1), memory is given back in the background.", tips: allShardsOK},
	"memory|stats":            {complexity: perClient, tips: unstable + " request_policy:all_shards response_policy:special"},
	"memory|usage":            {complexity: "O(1)", syntax: "key:key [SAMPLES count:integer]"},
	"shutdown":                {complexity: "O(N) where N is the number of client connections.", syntax: "nosave_save=[NOSAVE|SAVE] [NOW@7.0.0] [FORCE@7.0.0] [ABORT@7.0.0]"},
	"swapdb":                  {complexity: "O(1)", syntax: "index1:integer index2:integer"},
	"time":                    {complexity: "O(1)", tips: unstable},

	"hotkeys":         {complexity: dependsOnSub},
	"hotkeys|demote":  {complexity: "O(1)", syntax: "key:key [DB db:integer]"},
	"hotkeys|get":     {complexity: "O(N log N) where N is hotkeys-counters.", syntax: "[COUNT count:integer] [DB db:integer] [TYPE type=(ALL|READ|WRITE)] [WITHSTATS]", tips: unstable},
	"hotkeys|help":    {complexity: "O(1)"},
	"hotkeys|history": {complexity: "O(N) where N is the number of entries in the windows asked for.", syntax: "[COUNT windows:integer] [KEY name] [DB db:integer]", tips: unstable},
	"hotkeys|pin":     {complexity: "O(1)", syntax: "key:key [DB db:integer]"},
	"hotkeys|ready":   {complexity: "O(1)", syntax: "key:key [DB db:integer]"},
	"hotkeys|report":  {complexity: "O(1)", syntax: "key:key accesses:integer [DB db:integer]"},
	"hotkeys|reset":   {complexity: "O(N) where N is hotkeys-counters."},
	"hotkeys|start":   {complexity: "O(1)", syntax: "metrics=(METRICS count:integer [CPU] [NET]) [COUNT k:integer] [DURATION seconds:integer] [SAMPLE ratio:integer] [SLOTS slots=(count:integer slot:integer...)]", tips: "request_policy:special response_policy:special"},
	"hotkeys|states":  {complexity: "O(N log N) where N is the number of keys that are warming or hot.", syntax: "[STATE state=(WARMING|HOT)]", tips: unstable},
	"hotkeys|stop":    {complexity: "O(1)", tips: "request_policy:special response_policy:special"},
	"hotkeys|unpin":   {complexity: "O(1)", syntax: "key:key [DB db:integer]"},
}

// commandDocs leaves out what it does not know.
func commandDocs(c *client, args [][]byte) {
	list := c.s.table.top
	if len(args) > 2 {
		list = nil
		for _, name := range args[2:] {
			if cmd := c.s.table.named(name); cmd != nil {
				list = append(list, cmd)
			}
		}
	}
	c.docMap(list)
}

func (c *client) docMap(list []*command) {
	c.mapping(len(list))
	for _, cmd := range list {
		c.bulkString(cmd.fullName)
		c.docOf(cmd)
	}
}

func (c *client) docOf(cmd *command) {
	d := docs[cmd.fullName]
	arguments := d.arguments(len(cmd.keys))
	fields := 4
	for _, present := range []bool{d.deprecated != "", d.deprecated != "", d.instead != "", arguments != nil, cmd.subs != nil} {
		if present {
			fields++
		}
	}
	c.mapping(fields)
	c.docField("summary", cmd.summary)
	c.docField("since", cmd.since)
	c.docField("group", cmd.group)
	c.docField("complexity", d.complexity)
	if d.deprecated != "" {
		c.bulkString("doc_flags")
		c.statusSet([]string{"deprecated"})
		c.docField("deprecated_since", d.deprecated)
	}
	if d.instead != "" {
		c.docField("replaced_by", d.instead)
	}
	if arguments != nil {
		c.bulkString("arguments")
		c.docArguments(arguments)
	}
	if cmd.subs != nil {
		c.bulkString("subcommands")
		c.docMap(cmd.subs)
	}
}

func (c *client) docField(name, value string) {
	c.bulkString(name)
	c.bulkString(value)
}

// argument is a node of a command's syntax, as COMMAND DOCS names its parts.
type argument struct {
	name, kind string
	keySpec    int // index of the key specification that finds it; -1: not a key
	token      string
	since      string
	deprecated string
	optional   bool
	multiple   bool
	eachToken  bool       // the token is given with each of multiple
	parts      []argument // of a "oneof" or "block"
}

func (c *client) docArguments(list []argument) {
	c.array(len(list))
	for _, a := range list {
		c.docArgument(a)
	}
}

func (c *client) docArgument(a argument) {
	var flags []string
	if a.optional {
		flags = append(flags, "optional")
	}
	if a.multiple {
		flags = append(flags, "multiple")
	}
	if a.eachToken {
		flags = append(flags, "multiple_token")
	}
	fields := 2
	for _, present := range []bool{a.keySpec >= 0, a.token != "", a.since != "", a.deprecated != "", flags != nil, a.parts != nil} {
		if present {
			fields++
		}
	}
	c.mapping(fields)
	c.docField("name", a.name)
	c.docField("type", a.kind)
	if a.keySpec >= 0 {
		c.bulkString("key_spec_index")
		c.int(int64(a.keySpec))
	}
	if a.token != "" {
		c.docField("token", a.token)
	}
	if a.since != "" {
		c.docField("since", a.since)
	}
	if a.deprecated != "" {
		c.docField("deprecated_since", a.deprecated)
	}
	if flags != nil {
		c.bulkString("flags")
		c.statusSet(flags)
	}
	if a.parts != nil {
		c.bulkString("arguments")
		c.docArguments(a.parts)
	}
}

// argumentKinds are the types that a word may be given in a syntax.
var argumentKinds = []string{"key", "integer", "double", "pattern", "unix-time"}

// arguments reads the syntax of a command that has keySpecs key specifications.
func (d doc) arguments(keySpecs int) []argument {
	if d.syntax == "" {
		return nil
	}
	r := syntaxReader{text: d.syntax, keySpecs: keySpecs}
	list := r.sequence()
	if r.text != "" {
		panic("server: syntax does not end: " + d.syntax)
	}
	return list
}

// syntaxReader reads the syntax of doc by recursive descent. Nothing but our own table comes here, so it panics
// on what it does not understand.
type syntaxReader struct {
	text     string // what is left
	keySpecs int
	keys     int // keys read
}

func (r *syntaxReader) peek() byte {
	r.text = strings.TrimLeft(r.text, " ")
	if r.text == "" {
		return 0
	}
	return r.text[0]
}

// word reads up to a delimiter.
func (r *syntaxReader) word() string {
	end := strings.IndexAny(r.text, " =|()[]")
	switch {
	case end < 0:
		end = len(r.text)
	case end > 0 && r.text[end-1:end+1] == ":=":
		end++ // the token of XADD and XTRIM
	}
	word := r.text[:end]
	r.text = r.text[end:]
	return word
}

// sequence reads arguments up to the end of an alternative.
func (r *syntaxReader) sequence() (list []argument) {
	for !slices.Contains([]byte{0, '|', ')', ']'}, r.peek()) {
		list = append(list, r.argument())
	}
	return list
}

func (r *syntaxReader) argument() argument {
	if r.peek() == '[' {
		parts, _ := r.group()
		if len(parts) != 1 {
			panic("server: syntax wants a name for an optional group before: " + r.text)
		}
		parts[0].optional = true
		return parts[0]
	}
	word := r.word()
	if word == "" {
		panic("server: syntax wants a word before: " + r.text)
	}
	if strings.HasPrefix(r.text, "=") {
		r.text = r.text[1:]
		return r.named(word)
	}
	a := r.plain(word)
	if a.kind != "pure-token" || !startsOperand(r.peek()) {
		return a
	}
	operand := r.argument()
	operand.token = a.token
	return operand
}

// startsOperand tells operands, which have small letters, from tokens.
func startsOperand(b byte) bool { return b >= 'a' && b <= 'z' }

// named reads the token or the group after "name=". A group with alternatives is a "oneof", else a "block".
func (r *syntaxReader) named(name string) argument {
	if next := r.peek(); next != '(' && next != '[' {
		a := r.plain(r.word())
		a.name = name
		return a
	}
	a := argument{name: name, keySpec: -1, kind: "block", optional: r.peek() == '['}
	parts, alternatives := r.group()
	if alternatives > 1 {
		a.kind = "oneof"
	}
	a.parts = parts
	a.suffix(r.word())
	return a
}

// group reads brackets and the alternatives that they hold.
func (r *syntaxReader) group() (parts []argument, alternatives int) {
	for {
		r.text = r.text[1:] // the opening bracket or the bar
		parts = append(parts, r.sequence()...)
		alternatives++
		switch r.peek() {
		case 0:
			panic("server: syntax misses a bracket")
		case ')', ']':
			r.text = r.text[1:]
			return parts, alternatives
		}
	}
}

// plain reads a token or a word with what is attached to it.
func (r *syntaxReader) plain(word string) argument {
	a := argument{keySpec: -1}
	end := strings.IndexAny(word, "@!")
	if end < 0 {
		end = len(strings.TrimRight(word, "+."))
	}
	a.name = word[:end]
	a.suffix(word[end:])
	if !startsOperand(a.name[0]) {
		a.kind, a.token, a.name = "pure-token", a.name, strings.ToLower(a.name)
		return a
	}
	a.kind = "string"
	var spec string
	if a.name, spec, _ = strings.Cut(a.name, "#"); spec != "" {
		a.keySpec = int(spec[0] - '0')
	}
	if at := strings.LastIndexByte(a.name, ':'); at >= 0 {
		switch rest := a.name[at+1:]; {
		case slices.Contains(argumentKinds, rest):
			a.name, a.kind = a.name[:at], rest
		case !startsOperand(rest[0]):
			a.name, a.kind, a.token = a.name[:at], "pure-token", rest
		}
	}
	if a.kind == "key" && spec == "" {
		a.keySpec = min(r.keys, r.keySpecs-1)
		r.keys++
	}
	return a
}

// suffix reads "@version", "!version", "+" and "...".
func (a *argument) suffix(text string) {
	text, a.multiple = strings.CutSuffix(text, "...")
	text, a.eachToken = strings.CutSuffix(text, "+")
	text, a.deprecated, _ = strings.Cut(text, "!")
	since, found := strings.CutPrefix(text, "@")
	if text != "" && !found {
		panic("server: syntax has an unknown suffix: " + text)
	}
	a.since = since
}
