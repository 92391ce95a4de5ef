package server

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"kvserver/config"
	"kvserver/server/acl"
)

// The ACL commands. What they change they change under the gate: see accounts.go.

var aclRows = []row{
	{"acl", -2, 0, nil, "6.0.0", "A container for Access List Control commands.", nil},
}

var aclSubRows = []row{
	{"cat", -2, noscript | loading | stale, nil, "6.0.0", "Lists the ACL categories, or the commands inside a category.", aclCat},
	{"deluser", -3, admin | noscript | loading | stale | exclusive, nil, "6.0.0", "Deletes ACL users, and terminates their connections.", aclDelUser},
	{"dryrun", -4, admin | noscript | loading | stale, nil, "7.0.0", "Simulates the execution of a command by a user, without executing the command.", aclDryRun},
	{"genpass", -2, noscript | loading | stale, nil, "6.0.0", "Generates a pseudorandom, secure password that can be used to identify ACL users.", aclGenPass},
	{"getuser", 3, admin | noscript | loading | stale, nil, "6.0.0", "Lists the ACL rules of a user.", aclGetUser},
	{"help", 2, loading | stale, nil, "6.0.0", "Returns helpful text about the different subcommands.", aclHelp},
	{"list", 2, admin | noscript | loading | stale, nil, "6.0.0", "Dumps the effective rules in ACL file format.", aclList},
	{"load", 2, admin | noscript | loading | stale | exclusive, nil, "6.0.0", "Reloads the rules from the configured ACL file.", aclLoad},
	{"log", -2, admin | noscript | loading | stale, nil, "6.0.0", "Lists recent security events generated due to ACL rules.", aclLogEntries},
	{"save", 2, admin | noscript | loading | stale | exclusive, nil, "6.0.0", "Saves the effective ACL rules in the configured ACL file.", aclSave},
	{"setuser", -3, admin | noscript | loading | stale | exclusive, nil, "6.0.0", "Creates and modifies an ACL user and its rules.", aclSetUser},
	{"users", 2, admin | noscript | loading | stale, nil, "6.0.0", "Lists all ACL users.", aclUsers},
	{"whoami", 2, noscript | loading | stale, nil, "6.0.0", "Returns the authenticated username of the current connection.", aclWhoAmI},
}

// aclSetUser applies all rules to a copy, so that either all hold or none.
func aclSetUser(c *client, args [][]byte) {
	for i := range args[2:] {
		c.redact(i + 2)
	}
	name := string(args[2])
	if !acl.ValidName(name) {
		c.fail("ERR Usernames can't contain spaces or null characters")
		return
	}
	words := make([]string, 0, len(args)-3)
	for _, a := range args[3:] {
		words = append(words, string(a))
	}
	rules, unmatched := acl.MergeSelectors(words)
	if unmatched >= 0 {
		c.failf("ERR Unmatched parenthesis in acl selector starting at '%s'.", clip(args[3+unmatched], len(args[3+unmatched])))
		return
	}
	u := c.s.accounts.catalog.NewUser(name)
	if old := c.s.accounts.users[name]; old != nil {
		u = old.Clone()
	}
	if err := u.Apply(rules...); err != nil {
		fault, _ := errors.AsType[*acl.RuleError](err)
		c.failf("ERR Error in ACL SETUSER modifier '%s': %v", clip([]byte(fault.Rule), len(fault.Rule)), fault.Err)
		return
	}
	c.s.setUser(u, c)
	c.ok()
}

func aclDelUser(c *client, args [][]byte) {
	for _, name := range args[2:] {
		if string(name) == acl.DefaultName {
			c.fail("ERR The 'default' user cannot be removed")
			return
		}
	}
	removed := int64(0)
	for _, name := range args[2:] {
		if c.s.removeUser(string(name), c) {
			removed++
		}
	}
	c.int(removed)
}

func aclGetUser(c *client, args [][]byte) {
	u := c.s.accounts.users[string(args[2])]
	if u == nil {
		c.null()
		return
	}
	c.mapping(6)
	c.bulkString("flags")
	flags := u.Flags()
	c.set(len(flags))
	for _, f := range flags {
		c.bulkString(f)
	}
	c.bulkString("passwords")
	c.bulkStrings(u.Passwords())
	permissions := u.Permissions()
	c.permissions(permissions[0])
	c.bulkString("selectors")
	c.array(len(permissions) - 1)
	for _, p := range permissions[1:] {
		c.mapping(3)
		c.permissions(p)
	}
}

func (c *client) permissions(p acl.Permissions) {
	c.textField("commands", p.Commands)
	c.textField("keys", p.Keys)
	c.textField("channels", p.Channels)
}

// bulkStrings appends an array of bulk strings.
func (c *client) bulkStrings(list []string) {
	c.array(len(list))
	for _, s := range list {
		c.bulkString(s)
	}
}

func (c *client) textField(name, text string) {
	c.bulkString(name)
	c.bulkString(text)
}

func (c *client) field(name string, n int64) {
	c.bulkString(name)
	c.int(n)
}

func aclList(c *client, _ [][]byte) { c.bulkStrings(c.s.accounts.lines()) }

// lines are the users as they stand in a file.
func (a *accounts) lines() (list []string) {
	for _, name := range a.userNames() {
		list = append(list, a.users[name].Line())
	}
	return list
}

func aclUsers(c *client, _ [][]byte) { c.bulkStrings(c.s.accounts.userNames()) }

func aclWhoAmI(c *client, _ [][]byte) { c.bulkString(c.user.Name) }

func aclCat(c *client, args [][]byte) {
	catalog := c.s.accounts.catalog
	switch len(args) {
	case 2:
		c.bulkStrings(catalog.Categories())
	case 3:
		names, ok := catalog.Category(string(args[2]))
		if !ok {
			c.failf("ERR Unknown category '%s'", clip(args[2], 128))
			return
		}
		c.bulkStrings(names)
	default:
		c.fail(subcommandSyntax(c.cmd.parent, args[1]))
	}
}

// genPassBitsMax is Redis's limit.
const genPassBitsMax = 4096

func aclGenPass(c *client, args [][]byte) {
	bits := int64(256)
	switch len(args) {
	case 2:
	case 3:
		n, ok := parseInt(args[2])
		if !ok {
			c.fail(errNotInteger)
			return
		}
		bits = n
	default:
		c.fail(subcommandSyntax(c.cmd.parent, args[1]))
		return
	}
	if bits <= 0 || bits > genPassBitsMax {
		c.failf("ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to %d", genPassBitsMax)
		return
	}
	var raw [genPassBitsMax / 8]byte
	rand.Read(raw[:])
	c.bulkString(hex.EncodeToString(raw[:])[:(bits+3)/4])
}

func aclDryRun(c *client, args [][]byte) {
	u := c.s.accounts.users[string(args[2])]
	if u == nil {
		c.failf("ERR User '%s' not found", clip(args[2], len(args[2])))
		return
	}
	call := args[3:]
	cmd, known := c.s.table.find(call)
	if !known {
		c.failf("ERR Command '%s' not found", clip(call[0], len(call[0])))
		return
	}
	if !cmd.arityOK(len(call)) {
		c.fail(arityError(cmd))
		return
	}
	v, object := c.slot.check(u, cmd, call)
	if v != acl.Allowed {
		c.bulkString(refusalOf(v, u, cmd, object, true))
		return
	}
	c.ok()
}

const errNoACLFile = "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration."

// aclFileBytesMax bounds what a wrong path (a device, a dump) can make the server read.
const aclFileBytesMax = 64 << 20

// readUsers reads the users of a file. faults is what is wrong with it, in the words of Redis.
func (s *Server) readUsers(path string) (users []*acl.User, faults string) {
	data, err := readLimited(path, aclFileBytesMax)
	if err != nil {
		reason := err.Error()
		return nil, fmt.Sprintf("Error loading ACLs, opening file '%s': %s", path, strings.ToUpper(reason[:1])+reason[1:])
	}
	if users, faults = acl.ParseFile(path, data, s.accounts.catalog); faults != "" {
		return nil, faults + "WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
	}
	return users, ""
}

// readLimited reads a regular file of at most bytesMax. Its errors do not name the file.
func readLimited(path string, bytesMax int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file") // a pipe would make the server wait
	}
	f, err := os.Open(path)
	if fault, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fault.Err
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only: nothing to lose
	data, err := io.ReadAll(io.LimitReader(f, bytesMax+1))
	if err == nil && int64(len(data)) > bytesMax {
		err = fmt.Errorf("longer than %d bytes", bytesMax)
	}
	return data, err
}

func aclLoad(c *client, _ [][]byte) {
	path := c.s.params.acl.file.Get()
	if path == "" {
		c.fail(errNoACLFile)
		return
	}
	users, faults := c.s.readUsers(path)
	if faults != "" {
		c.fail("ERR " + faults)
		return
	}
	c.s.setUsers(users, c)
	c.ok()
}

func aclSave(c *client, _ [][]byte) {
	path := c.s.params.acl.file.Get()
	if path == "" {
		c.fail(errNoACLFile)
		return
	}
	text := strings.Join(c.s.accounts.lines(), "\n") + "\n"
	if err := config.ReplaceFile(path, []byte(text)); err != nil {
		c.s.log.Warn("saving the ACL file failed", "error", err)
		c.fail("ERR There was an error trying to save the ACLs. Please check the server logs for more information")
		return
	}
	c.ok()
}

func aclHelp(c *client, _ [][]byte) {
	c.help("acl",
		"CAT [<category>]",
		"    List the categories, or the commands of one.",
		"DELUSER <username> [<username> ...]",
		"    Delete users and close their connections.",
		"DRYRUN <username> <command> [<arg> ...]",
		"    Tell whether a user may run a command, without running it.",
		"GETUSER <username>",
		"    Return the rules of a user.",
		"GENPASS [<bits>]",
		"    Return a random password, of 256 bits unless told otherwise.",
		"LIST",
		"    Return all users as lines of an ACL file.",
		"LOAD",
		"    Read the users from the ACL file again.",
		"LOG [<count>|RESET]",
		"    Return the latest denials, or forget them.",
		"SAVE",
		"    Write the users to the ACL file.",
		"SETUSER <username> [<rule> ...]",
		"    Create a user or change one.",
		"USERS",
		"    Return the names of all users.",
		"WHOAMI",
		"    Return the name of the user of this connection.")
}
