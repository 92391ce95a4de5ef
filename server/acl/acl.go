// Package acl holds users, what they may do, and the language of rules in which that is said: the access control lists
// of Redis 7.2. It knows no sockets and no command table; which commands there are, with their categories, is given to it
// as plain data (a [Catalog]).
//
// A user has passwords and one or more selectors. A selector is a set of commands, a list of patterns for keys, each for
// reading, writing or both, and a list of patterns for channels. A call is allowed if one selector allows all of it. The
// first selector is the one that rules outside of parentheses change.
//
//	k := acl.NewCatalog(categories, commands)
//	u := k.NewUser("app")
//	err := u.Apply("on", ">secret", "~app:*", "+@read", "-keys")
//	verdict, _ := u.Check(&acl.Call{Command: id, Keys: keys})
//
// The set of commands is a bit per command, so that asking for one costs a load, and the rules that made it are kept
// besides, without those that later ones made void: [User.Describe] prints them, and they make the same set again also
// where the catalog has gained commands since.
//
// Nothing here locks. Users are read by many and changed by one who has made sure that nobody reads.
package acl

import (
	"slices"
	"strings"
)

// Command is what a catalog says of one command or subcommand.
type Command struct {
	Name       string // in small letters, a subcommand's as "config|get"
	Parent     int    // index of the command that a subcommand belongs to; -1: it is none
	Categories []int  // indexes
}

// Catalog is the commands there are. An index in it is what a [Call] names its command by.
type Catalog struct {
	// AllChannels says what new users and selectors may do with channels: everything, or nothing (acl-pubsub-default).
	AllChannels bool

	categories []string
	commands   []Command
	byName     map[string]int
	subs       [][]int // by the index of their parent
	inCategory [][]int
}

// NewCatalog makes a catalog of the names of categories and of commands. A parent precedes its subcommands.
func NewCatalog(categories []string, commands []Command) *Catalog {
	k := &Catalog{
		categories: categories, commands: commands, byName: make(map[string]int, len(commands)),
		subs: make([][]int, len(commands)), inCategory: make([][]int, len(categories)),
	}
	for id, cmd := range commands {
		k.byName[cmd.Name] = id
		if cmd.Parent >= 0 {
			k.subs[cmd.Parent] = append(k.subs[cmd.Parent], id)
		}
		for _, category := range cmd.Categories {
			k.inCategory[category] = append(k.inCategory[category], id)
		}
	}
	return k
}

// Categories are the names of all categories. The slice is the catalog's.
func (k *Catalog) Categories() []string { return k.categories }

// Category returns the full names of the commands in a category, whose name may have capitals, or false if there is none
// of that name.
func (k *Catalog) Category(name string) (commands []string, ok bool) {
	i := slices.Index(k.categories, lower(name))
	if i < 0 {
		return nil, false
	}
	for _, id := range k.inCategory[i] {
		commands = append(commands, k.commands[id].Name)
	}
	return commands, true
}

// User is one user. The zero value is not one: see [Catalog.NewUser].
type User struct {
	Name string

	// What follows is derived, so that the usual questions cost one test.

	Unrestricted bool // everything is allowed
	AllKeys      bool // nothing depends on which keys a call names
	AllChannels  bool // likewise channels

	catalog     *Catalog
	enabled     bool
	anyPassword bool // nopass
	unsanitized bool // skip-sanitize-payload
	passwords   []digest
	selectors   []*selector // at least one
}

// selector is one set of permissions.
type selector struct {
	allCommands bool // every command, whatever the bits say
	allKeys     bool
	allChannels bool

	commands  []uint64         // a bit per command of the catalog
	firstArgs map[int][]string // by command without its bit: first arguments with which it is allowed, in small letters
	fromAll   bool             // the rules begin with all commands, those that are not known yet included
	rules     []string         // in the order in which they were given: "+get", "-@dangerous"
	keys      []keyPattern
	channels  []pattern
}

// NewUser returns a user who is off and may do nothing, but for channels if the catalog says so.
func (k *Catalog) NewUser(name string) *User {
	u := &User{Name: name, catalog: k, selectors: []*selector{k.newSelector()}}
	u.derive()
	return u
}

// DefaultName is the name of the user that connections begin with.
const DefaultName = "default"

// NewDefaultUser returns the default user as it is if nobody says anything else: it may do everything without a password.
func (k *Catalog) NewDefaultUser() *User {
	u := k.NewUser(DefaultName)
	if err := u.Apply("+@all", "~*", "&*", "on", "nopass"); err != nil {
		panic("acl: the default user's rules: " + err.Error())
	}
	return u
}

func (k *Catalog) newSelector() *selector {
	return &selector{allChannels: k.AllChannels, commands: make([]uint64, (len(k.commands)+63)/64)}
}

// Clone returns a copy that shares nothing with u that changes.
func (u *User) Clone() *User {
	c := *u
	c.passwords = slices.Clone(u.passwords)
	c.selectors = make([]*selector, len(u.selectors))
	for i, s := range u.selectors {
		c.selectors[i] = s.clone()
	}
	return &c
}

func (s *selector) clone() *selector {
	c := *s
	c.commands = slices.Clone(s.commands)
	c.rules = slices.Clone(s.rules)
	c.keys = slices.Clone(s.keys)
	c.channels = slices.Clone(s.channels)
	c.firstArgs = nil
	for id, args := range s.firstArgs {
		c.addFirstArgs(id, args...)
	}
	return &c
}

// Become takes over everything of another user, who must not be used any more, but for the name.
func (u *User) Become(other *User) {
	name := u.Name
	*u = *other
	u.Name = name
}

// Enabled tells whether somebody may authenticate as u.
func (u *User) Enabled() bool { return u.enabled }

// AnyPassword tells whether every password will do for u.
func (u *User) AnyPassword() bool { return u.anyPassword }

// derive computes what is derived. Every change of a user ends with it.
func (u *User) derive() {
	u.Unrestricted, u.AllKeys, u.AllChannels = false, true, true
	for _, s := range u.selectors {
		u.Unrestricted = u.Unrestricted || s.allCommands && s.allKeys && s.allChannels
		u.AllKeys = u.AllKeys && s.allKeys
		u.AllChannels = u.AllChannels && s.allChannels
	}
}

// lower is strings.ToLower for ASCII: names of commands and rules are nothing else, and other bytes stay as they are.
func lower(text string) string {
	i := strings.IndexFunc(text, func(c rune) bool { return c >= 'A' && c <= 'Z' })
	if i < 0 {
		return text
	}
	b := []byte(text)
	for ; i < len(b); i++ {
		if b[i] >= 'A' && b[i] <= 'Z' {
			b[i] |= 0x20
		}
	}
	return string(b)
}
