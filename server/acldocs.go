package server

const (
	perUser     = "O(N) where N is the number of users."
	perUserRule = "O(N) where N is the number of passwords, commands and patterns that the user's rules name."
)

// aclDocs: see docs.
var aclDocs = map[string]doc{
	"acl":         {complexity: dependsOnSub},
	"acl|cat":     {complexity: "O(1) since the categories and commands are a fixed set.", syntax: "[categoryname]"},
	"acl|deluser": {complexity: "O(N) where N is the number of client connections.", syntax: "username..."},
	"acl|dryrun":  {complexity: "O(1)", syntax: "username command [arg...]"},
	"acl|genpass": {complexity: "O(1)", syntax: "[bits:integer]"},
	"acl|getuser": {complexity: perUserRule, syntax: "username"},
	"acl|help":    {complexity: "O(1)"},
	"acl|list":    {complexity: perUser},
	"acl|load":    {complexity: perUser},
	"acl|log":     {complexity: "O(N) where N is the number of entries returned.", syntax: "[operation=(count:integer|RESET)]"},
	"acl|save":    {complexity: perUser},
	"acl|setuser": {complexity: "O(N) where N is the number of rules given.", syntax: "username [rule...]"},
	"acl|users":   {complexity: perUser},
	"acl|whoami":  {complexity: "O(1)"},
}
