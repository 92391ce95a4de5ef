package server

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"kvserver/config"
	"kvserver/server/acl"
)

// Who may do what: the users, the test of each command, and what follows when users change. What rules mean is in package
// acl, the ACL commands are in acl.go.
//
// Users change only under the gate, and a user that stays is changed in place, so that sessions refer to it by pointer and
// dispatch asks without a lock. Users who may do everything cost it one test.

// accounts are the users of a server.
type accounts struct {
	catalog *acl.Catalog
	users   map[string]*acl.User
	initial *acl.User // the default user, as whom connections begin
	nobody  *acl.User // stands for users that there are not when a password is tested

	// What connections must know before they have a slot.
	open        atomic.Bool // the default user is on and needs no password
	unprotected atomic.Bool // it needs no password, whether or not it is on

	log    aclLog
	denied [aclReasons]atomic.Int64 // for INFO
}

// aclParams are the parameters about users, and the user lines of the configuration file.
type aclParams struct {
	file           *config.String
	channels       *config.String
	logEntriesMax  *config.Int
	declared       [][]string // name and rules, selectors merged
	current        func() [][]string
	declareCatalog *acl.Catalog // to judge rules by before there is a server
}

const (
	allChannels   = "allchannels"
	resetChannels = "resetchannels"
)

func (p *Parameters) registerACL(r *config.Registry) {
	a := &p.acl
	a.file = r.String("aclfile", "", config.Immutable(), config.Doc("file of users, read at start and by ACL LOAD; empty: users stand in this file"))
	a.channels = r.Enum("acl-pubsub-default", resetChannels, []string{allChannels, resetChannels},
		config.Doc("what new users may do with channels"))
	a.logEntriesMax = r.Int("acllog-max-len", 128, 0, math.MaxInt64, config.Doc("entries that ACL LOG remembers"))
	r.State("user", a.declare, func() [][]string { return a.current() })
}

// declare notes a user line. Its errors show no rule: it may hold a password.
func (a *aclParams) declare(args []string) error {
	if len(args) == 0 {
		return errors.New("takes a name and rules")
	}
	if !acl.ValidName(args[0]) {
		return errors.New("spaces not allowed in ACL usernames")
	}
	if slices.ContainsFunc(a.declared, func(d []string) bool { return d[0] == args[0] }) {
		return errors.New("Duplicate user found. A user can only be defined once in config files")
	}
	rules, unmatched := acl.MergeSelectors(args[1:])
	if unmatched >= 0 {
		return fmt.Errorf("unmatched parenthesis in the selector that begins with rule %d", unmatched+1)
	}
	if a.declareCatalog == nil {
		a.declareCatalog = catalogOf(newTable((*Server)(nil).families()...))
	}
	if err := a.declareCatalog.NewUser(args[0]).Apply(rules...); err != nil {
		return ruleFault(err)
	}
	a.declared = append(a.declared, append([]string{args[0]}, rules...))
	return nil
}

// ruleFault says which rule is wrong without showing it.
func ruleFault(err error) error {
	if fault, ok := errors.AsType[*acl.RuleError](err); ok {
		return fmt.Errorf("rule %d: %w", fault.Index+1, fault.Err)
	}
	return err
}

// catalogOf tells package acl of the commands of a table.
func catalogOf(t *table) *acl.Catalog {
	var names []string
	for _, category := range aclCategories {
		names = append(names, category.name)
	}
	list := make([]acl.Command, len(t.all))
	for id, cmd := range t.all {
		list[id] = acl.Command{Name: cmd.fullName, Parent: -1}
		if cmd.parent != nil {
			list[id].Parent = cmd.parent.id
		}
		for i := range aclCategories {
			if cmd.flags.inCategory(i) {
				list[id].Categories = append(list[id].Categories, i)
			}
		}
	}
	return acl.NewCatalog(names, list)
}

// newAccounts makes the users that there are without any configuration.
func (s *Server) newAccounts() {
	a := &s.accounts
	a.catalog = catalogOf(s.table)
	a.nobody = a.catalog.NewUser("")
	a.initial = a.catalog.NewDefaultUser()
	a.users = map[string]*acl.User{acl.DefaultName: a.initial}
	s.params.acl.current = s.userLines
}

// loadAccounts makes the users that the configuration declares, once the parameters are in force.
func (s *Server) loadAccounts() error {
	a, declared := &s.accounts, s.params.acl.declared
	if file := s.params.acl.file.Get(); file != "" {
		if len(declared) > 0 {
			return errors.New("users are defined both in the configuration file and by aclfile: define them in one of the two, since the other would be ignored")
		}
		users, faults := s.readUsers(file)
		if faults != "" {
			return errors.New("ACL errors: " + faults)
		}
		s.setUsers(users, nil)
	}
	for _, d := range declared {
		u := a.catalog.NewUser(d[0])
		if err := u.Apply(d[1:]...); err != nil {
			return fmt.Errorf("user %s: %w", d[0], ruleFault(err))
		}
		if !u.Enabled() {
			s.log.Info("a user of the configuration is disabled: there is no 'on' in its rules", "user", d[0])
		}
		s.setUser(u, nil)
	}
	return nil
}

// implicitDefault is the default user as long as no rules say what it is.
func (s *Server) implicitDefault() *acl.User {
	u := s.accounts.catalog.NewDefaultUser()
	if password := s.params.requirePass.Get(); password != "" {
		mustApply(u, "resetpass", ">"+password)
	}
	return u
}

// mustApply applies rules that cannot be wrong.
func mustApply(u *acl.User, rules ...string) {
	if err := u.Apply(rules...); err != nil {
		panic("server: ACL rules of our own: " + err.Error())
	}
}

// applyRequirePass makes requirepass the password of the default user, which has no other then. Its other rules stay.
func (s *Server) applyRequirePass() error {
	u := s.accounts.initial
	if password := s.params.requirePass.Get(); password != "" {
		mustApply(u, "resetpass", ">"+password)
	} else {
		mustApply(u, "nopass")
	}
	s.accounts.tellConnections()
	return nil
}

func (s *Server) applyChannelsDefault() error {
	s.accounts.catalog.AllChannels = s.params.acl.channels.Get() == allChannels
	return nil
}

func (s *Server) applyACLLog() error {
	s.accounts.log.limit(s.params.acl.logEntriesMax.Get())
	return nil
}

// tellConnections publishes what they must know.
func (a *accounts) tellConnections() {
	a.open.Store(a.initial.Enabled() && a.initial.AnyPassword())
	a.unprotected.Store(a.initial.AnyPassword())
}

// authRequired tells whether clients must authenticate.
func (s *Server) authRequired() bool { return !s.accounts.open.Load() }

// setUser adds a user, or makes the one of its name like it and closes the clients that have subscriptions they would not be
// allowed any more. The caller, nil if it is no client, holds the gate, and lets u go.
func (s *Server) setUser(u *acl.User, caller *client) {
	a := &s.accounts
	old := a.users[u.Name]
	if old == nil {
		a.users[u.Name] = u
		return
	}
	losers := s.subscribersWithout(u, old)
	old.Become(u)
	a.tellConnections()
	dismiss(losers, caller)
}

// setUsers replaces all users. The clients of those that are gone are closed, those of others go on. The caller holds the
// gate.
func (s *Server) setUsers(users []*acl.User, caller *client) {
	gone := make(map[string]*acl.User, len(s.accounts.users))
	for name, u := range s.accounts.users {
		gone[name] = u
	}
	for _, u := range users {
		delete(gone, u.Name)
		s.setUser(u, caller)
	}
	if gone[acl.DefaultName] != nil {
		delete(gone, acl.DefaultName)
		s.setUser(s.implicitDefault(), caller)
	}
	for name := range gone {
		s.removeUser(name, caller)
	}
}

// removeUser removes a user and closes its clients. It reports whether there was one of that name.
func (s *Server) removeUser(name string, caller *client) bool {
	u := s.accounts.users[name]
	if u == nil {
		return false
	}
	delete(s.accounts.users, name)
	mustApply(u, "reset", "resetchannels") // nobody can do anything as u, whatever is under way
	clients := s.clients.all()
	dismiss(slices.DeleteFunc(clients, func(c *client) bool { return c.user != u }), caller)
	return true
}

// dismiss closes the connections of clients, that of the caller after its reply. The gate is closed.
func dismiss(list []*client, caller *client) {
	for _, c := range list {
		if c == caller {
			c.closeAfterReply()
		} else {
			c.kill()
		}
	}
}

// subscribersWithout returns the clients of a user who have subscriptions that it would not be allowed as after.
func (s *Server) subscribersWithout(after, user *acl.User) (losers []*client) {
	if after.ExtendsChannelsOf(user) {
		return nil
	}
	for _, c := range s.clients.all() {
		if c.user == user && c.sub != nil && !c.sub.allowedBy(after) {
			losers = append(losers, c)
		}
	}
	return losers
}

// allowedBy tells whether a user may have all subscriptions of sub.
func (sub *subscriber) allowedBy(u *acl.User) bool {
	for kind := range channelKinds {
		for name := range sub.names[kind] {
			if !u.AllowsChannel([]byte(name), kind == channelPattern) {
				return false
			}
		}
	}
	return true
}

// userNames are in the order of their bytes.
func (a *accounts) userNames() []string {
	names := make([]string, 0, len(a.users))
	for name := range a.users {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// userLines are the user lines that CONFIG REWRITE keeps: those of all users, but for a default user that would be the
// same without.
func (s *Server) userLines() (lines [][]string) {
	if s.params.acl.file.Get() != "" {
		return nil
	}
	for _, name := range s.accounts.userNames() {
		u := s.accounts.users[name]
		if name != acl.DefaultName || u.Describe() != s.implicitDefault().Describe() {
			lines = append(lines, append([]string{name}, strings.Split(u.Describe(), " ")...))
		}
	}
	return lines
}

// What a command does to a key, as permissions tell.
func accessOf(f keyFlags) (a acl.Access) {
	if f&kAccess != 0 {
		a |= acl.Read
	}
	if f&(kInsert|kDelete|kUpdate) != 0 {
		a |= acl.Write
	}
	return a
}

// aclCall is a command as the rules of u look at it. It belongs to the slot's scratch memory. The number of arguments must
// be one that the command may have.
func (sl *slot) aclCall(u *acl.User, cmd *command, args [][]byte) *acl.Call {
	call := &sl.acl
	*call = acl.Call{Command: cmd.id, Always: cmd.flags&noAuth != 0, Keys: call.Keys[:0], Patterns: cmd.flags&namesPatterns != 0}
	first := 1
	if cmd.parent != nil {
		first = 2
	}
	if first < len(args) {
		call.FirstArg = args[first]
	}
	if !u.AllKeys {
		for i := range cmd.keys {
			call.Keys = sl.appendACLKeys(call.Keys, &cmd.keys[i], args)
		}
	}
	switch {
	case u.AllChannels:
	case cmd.flags&namesChannel != 0:
		call.Channels = args[1:2]
	case cmd.flags&(namesChannels|namesPatterns) != 0:
		call.Channels = args[1:]
	}
	return call
}

func (sl *slot) appendACLKeys(list []acl.Key, spec *keySpec, args [][]byte) []acl.Key {
	if spec.flags&kNotKey != 0 {
		return list
	}
	access := accessOf(spec.flagsFor(args))
	if spec.ranged() && spec.first == spec.last && spec.first < len(args) {
		return append(list, acl.Key{Name: args[spec.first], Access: access})
	}
	sl.aclKeys = spec.appendKeys(sl.aclKeys[:0], args)
	for _, name := range sl.aclKeys {
		list = append(list, acl.Key{Name: name, Access: access})
	}
	return list
}

// refusalOf is what a verdict against a call says after the error code. verbose names the key or channel.
func refusalOf(v acl.Verdict, u *acl.User, cmd *command, object []byte, verbose bool) string {
	switch {
	case v == acl.DeniedCommand:
		return fmt.Sprintf("User %s has no permissions to run the '%s' command", u.Name, cmd.fullName)
	case v == acl.DeniedKey && verbose:
		return fmt.Sprintf("User %s has no permissions to access the '%s' key", u.Name, clip(object, len(object)))
	case v == acl.DeniedKey:
		return "No permissions to access a key"
	case v == acl.DeniedChannel && verbose:
		return fmt.Sprintf("User %s has no permissions to access the '%s' channel", u.Name, clip(object, len(object)))
	case v == acl.DeniedChannel:
		return "No permissions to access a channel"
	}
	return ""
}

// check asks whether u may run a command. If not, object is what it may not touch: the command, the key or the channel.
func (sl *slot) check(u *acl.User, cmd *command, args [][]byte) (v acl.Verdict, object []byte) {
	call := sl.aclCall(u, cmd, args)
	v, at := u.Check(call)
	switch v {
	case acl.DeniedCommand:
		object = []byte(cmd.fullName)
	case acl.DeniedKey:
		object = call.Keys[at].Name
	case acl.DeniedChannel:
		object = call.Channels[at]
	}
	sl.forgetCall()
	return v, object
}

// forgetCall lets go of the input that the latest call aliases.
func (sl *slot) forgetCall() {
	call := &sl.acl
	call.FirstArg, call.Channels = nil, nil
	clear(call.Keys)
	clear(sl.aclKeys)
	if cap(call.Keys) > keptArgs {
		call.Keys, sl.aclKeys = nil, nil
	}
}

// mayRun tells whether the client may run a command, and leaves no trace.
func (c *client) mayRun(cmd *command, args [][]byte) bool {
	if c.user.Unrestricted {
		return true
	}
	if cmd.oneKey {
		return c.user.Allows(cmd.id, args[1], acl.Key{Name: args[1], Access: accessOf(cmd.keys[0].flagsFor(args))})
	}
	v, _ := c.slot.check(c.user, cmd, args)
	return v == acl.Allowed
}

// permits is for what is run otherwise than by dispatch: it tells whether the client may run a command. If not, it notes that
// in the ACL log and returns what to say after the error code. The number of arguments must be one that the command may have.
func (c *client) permits(cmd *command, args [][]byte, from aclContext) (refusal string) {
	if c.mayRun(cmd, args) {
		return ""
	}
	v, object := c.slot.check(c.user, cmd, args)
	c.noteDenied(reasonOf[v], from, string(object), c.user.Name, args)
	return refusalOf(v, c.user, cmd, nil, false)
}

// refused answers a command that the client may not run. Users who may do everything are not to be asked about.
func (c *client) refused(cmd *command, args [][]byte) bool {
	before := c.cmd
	c.cmd = cmd
	refusal := c.permits(cmd, args, c.aclContext())
	if refusal == "" {
		c.cmd = before
		return false
	}
	c.reject(cmd, "NOPERM "+refusal)
	return true
}

// aclContext is where the command being dispatched comes from.
func (c *client) aclContext() aclContext {
	if c.multi != nil || c.inExec {
		return fromMulti
	}
	return fromClient
}

// changedSinceQueued says why a queued command is not run any more.
var changedSinceQueued = map[acl.Verdict]string{
	acl.DeniedCommand: "no permission to execute the command or subcommand",
	acl.DeniedKey:     "no permission to touch the specified keys",
	acl.DeniedChannel: "no permission to access one of the channels used as arguments to the command",
}

// refusedInExec answers a queued command that the client may not run any more.
func (c *client) refusedInExec(cmd *command, args [][]byte) bool {
	v, object := c.slot.check(c.user, cmd, args)
	if v == acl.Allowed {
		return false
	}
	c.cmd = cmd
	c.noteDenied(reasonOf[v], fromMulti, string(object), c.user.Name, args)
	c.fail("NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. " +
		"This command is no longer allowed for the following reason: " + changedSinceQueued[v])
	return true
}

// mayReachAnyKey tells whether the client may run a command and have it read whatever keys it finds: patterns of SORT lead
// anywhere.
func (c *client) mayReachAnyKey(cmd *command, args [][]byte) bool {
	if c.user.AllKeys {
		return true
	}
	defer c.slot.forgetCall()
	return c.user.AllowsAnyKey(c.slot.aclCall(c.user, cmd, args), acl.Read)
}
