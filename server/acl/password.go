package acl

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"
)

// digest is the SHA-256 of a password, which is all that is kept of it.
type digest [sha256.Size]byte

// parseDigest reads a digest as rules spell it, in hexadecimal with small letters.
func parseDigest(text string) (d digest, ok bool) {
	if len(text) != hex.EncodedLen(len(d)) || lower(text) != text {
		return d, false
	}
	_, err := hex.Decode(d[:], []byte(text))
	return d, err == nil
}

func (d digest) String() string { return hex.EncodeToString(d[:]) }

// Authenticate tells whether a password is one of the user's, who must be on. Digests are compared, all of them and each
// in constant time, so that the time it takes tells nothing about the passwords.
func (u *User) Authenticate(password []byte) bool {
	given := digest(sha256.Sum256(password))
	match := 0
	for _, d := range u.passwords {
		match |= subtle.ConstantTimeCompare(d[:], given[:])
	}
	return u.enabled && (u.anyPassword || match == 1)
}

// Passwords returns the digests of the user's passwords in hexadecimal, in the order in which they were added.
func (u *User) Passwords() []string {
	list := make([]string, len(u.passwords))
	for i, d := range u.passwords {
		list[i] = d.String()
	}
	return list
}

// changePassword applies a rule: ">password" and "#digest" add one, "<password" and "!digest" remove one.
func (u *User) changePassword(rule string) error {
	var d digest
	if rule[0] == '>' || rule[0] == '<' {
		d = sha256.Sum256([]byte(rule[1:]))
	} else {
		var ok bool
		if d, ok = parseDigest(rule[1:]); !ok {
			return ErrDigest
		}
	}
	at := slices.Index(u.passwords, d)
	if rule[0] == '<' || rule[0] == '!' {
		if at < 0 {
			return ErrNoPassword
		}
		u.passwords = slices.Delete(u.passwords, at, at+1)
		return nil
	}
	if at < 0 {
		if len(u.passwords) >= passwordsMax {
			return ErrTooMany
		}
		u.passwords = append(u.passwords, d)
	}
	u.anyPassword = false
	return nil
}
