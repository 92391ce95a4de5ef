package acl

import (
	"fmt"
	"strings"
)

// ParseFile reads the users of a file of lines "user <name> <rule> ...", with nothing else but empty lines. faults, in
// the words of Redis, are all that is wrong, in one line; then the users are not to be used. name is the file's, for the
// faults, in which no rule is shown.
func ParseFile(name string, data []byte, k *Catalog) (users []*User, faults string) {
	var b strings.Builder
	seen := make(map[string]bool)
	number := 0
	for line := range strings.SplitSeq(string(data), "\n") {
		number++
		if line = strings.Trim(line, " \t\r\n"); line == "" {
			continue
		}
		words := strings.Split(line, " ")
		switch {
		case words[0] != "user" || len(words) < 2:
			fmt.Fprintf(&b, "%s:%d should start with user keyword followed by the username. ", name, number)
			continue
		case !ValidName(words[1]):
			fmt.Fprintf(&b, "'%s:%d: username '%s' contains invalid characters. ", name, number, words[1])
			continue
		case seen[words[1]]:
			fmt.Fprintf(&b, "WARNING: Duplicate user '%s' found on line %d. ", words[1], number)
			continue
		}
		seen[words[1]] = true
		u := k.NewUser(words[1])
		users = append(users, u)
		rules, unmatched := MergeSelectors(words[2:])
		if unmatched >= 0 {
			fmt.Fprintf(&b, "%s:%d: Unmatched parenthesis in selector definition.", name, number)
		}
		for _, rule := range rules {
			if err := u.Apply(strings.Trim(rule, "\t\r\n")); err != nil {
				fmt.Fprintf(&b, "%s:%d: %v. ", name, number, err)
			}
		}
	}
	return users, b.String()
}
