// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"kumodo.io/convoy/fetch/internal/fault"
)

// Keys of the Secret with SSH keys that are trusted, besides those that end in .pub.
const (
	allowedSigners = "allowed_signers"
	revokedKeys    = "revoked_keys"
)

// signers trusts SSH keys.
type signers struct {
	secret  string
	trusted []signer
	// others are keys of allowed_signers that sign no commits and tags, and why not.
	others  []other
	revoked []ssh.PublicKey
}

type other struct {
	key ssh.PublicKey
	why string
}

// Why a key of allowed_signers signs no commits and tags.
const (
	forAuthority = "for a certificate authority, which is not supported"
	forOthers    = "not for the namespace " + namespace
)

// signer is a key with the time that it is trusted in; zero times do not bound it.
type signer struct {
	key           ssh.PublicKey
	after, before time.Time
}

// newSigners reads the key allowed_signers of a Secret, in the form that ssh-keygen(1)
// describes under ALLOWED SIGNERS, and all that end in .pub, with one public key a line.
func newSigners(secret string, data map[string][]byte) (*signers, error) {
	s := &signers{secret: secret}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		var read func(line string) error
		switch {
		case name == allowedSigners:
			read = s.allowed
		case name == revokedKeys:
			read = s.revoke
		case strings.HasSuffix(name, ".pub"):
			read = s.plain
		default:
			continue
		}
		if err := eachLine(data[name], read); err != nil {
			return nil, fault.New(fault.ErrSecret, "the key %s of the Secret %s cannot be read: %s", name, secret, err)
		}
	}
	switch {
	case len(s.trusted) > 0:
		return s, nil
	case len(s.others) > 0:
		return nil, fault.New(fault.ErrSecret, "the Secret %s holds no keys to trust: in its key %s, %s", secret, allowedSigners, s.passedOver())
	}
	return nil, noKeys(secret, allowedSigners+" or names that end in .pub are", data)
}

// passedOver says how many lines of allowed_signers are passed over, and why.
func (s *signers) passedOver() string {
	var parts []string
	for _, why := range []string{forAuthority, forOthers} {
		n := 0
		for _, o := range s.others {
			if o.why == why {
				n++
			}
		}
		switch {
		case n == 1:
			parts = append(parts, "1 line is "+why)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d lines are %s", n, why))
		}
	}
	return strings.Join(parts, ", ")
}

func eachLine(data []byte, read func(string) error) error {
	number := 0
	for line := range bytes.Lines(data) {
		number++
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' {
			continue
		}
		if err := read(text); err != nil {
			return fmt.Errorf("line %d %w", number, err)
		}
	}
	return nil
}

type lineError string

func (e lineError) Error() string { return string(e) }

const errNoPublicKey = lineError("holds no SSH public key")

func (s *signers) plain(line string) error {
	key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(line))
	switch {
	case err != nil:
		return errNoPublicKey
	case len(options) > 0:
		return lineError("has options, which belong into " + allowedSigners)
	}
	s.trusted = append(s.trusted, signer{key: key})
	return nil
}

func (s *signers) revoke(line string) error {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		return errNoPublicKey
	}
	s.revoked = append(s.revoked, key)
	return nil
}

// allowed reads principals, options and a key. Git asks for any principal that has the
// key, so who it is does not matter here.
func (s *signers) allowed(line string) error {
	_, rest, ok := cutWord(line)
	if !ok {
		return errNoPublicKey
	}
	key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(rest))
	if err != nil {
		return errNoPublicKey
	}
	trusted, why := signer{key: key}, ""
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		value = strings.Trim(value, `"`)
		switch strings.ToLower(name) {
		case "cert-authority":
			why = forAuthority
		case "namespaces":
			if !matchList(value, namespace) {
				why = cmp.Or(why, forOthers)
			}
		case "valid-after":
			trusted.after, err = parseTime(value)
		case "valid-before":
			trusted.before, err = parseTime(value)
		default:
			return lineError("has an option that is none of namespaces, valid-after, valid-before, cert-authority")
		}
		if err != nil {
			return err
		}
	}
	if why != "" {
		// Other lines are good all the same.
		s.others = append(s.others, other{key, why})
		return nil
	}
	s.trusted = append(s.trusted, trusted)
	return nil
}

// cutWord takes the first word off, which quotes may hold together.
func cutWord(line string) (word, rest string, ok bool) {
	end := strings.IndexAny(line, " \t")
	if strings.HasPrefix(line, `"`) {
		if end = strings.IndexByte(line[1:], '"'); end >= 0 {
			end += 2
		}
	}
	if end < 0 || end >= len(line) {
		return line, "", false
	}
	return line[:end], strings.TrimSpace(line[end:]), true
}

// matchList says whether a comma-separated list of patterns fits a text.
func matchList(patterns, text string) bool {
	fits := false
	for pattern := range strings.SplitSeq(patterns, ",") {
		pattern, negated := strings.CutPrefix(strings.TrimSpace(pattern), "!")
		if ok, err := path.Match(pattern, text); err == nil && ok {
			if negated {
				return false
			}
			fits = true
		}
	}
	return fits
}

// parseTime reads YYYYMMDD or YYYYMMDDHHMM[SS], in UTC; a Z at the end changes nothing.
func parseTime(text string) (time.Time, error) {
	digits := strings.TrimSuffix(text, "Z")
	layout, ok := map[int]string{8: "20060102", 12: "200601021504", 14: "20060102150405"}[len(digits)]
	if !ok {
		layout = "20060102"
	}
	at, err := time.Parse(layout, digits)
	if err != nil {
		return time.Time{}, lineError("has a time that is no YYYYMMDD[HHMM[SS]][Z]")
	}
	return at, nil
}

// accepts says whether a key is trusted now. name is how messages call it.
func (s *signers) accepts(what string, key ssh.PublicKey, name string, now time.Time) error {
	same := func(other ssh.PublicKey) bool { return bytes.Equal(other.Marshal(), key.Marshal()) }
	if slices.ContainsFunc(s.revoked, same) {
		return fault.NewUnverified("%s is signed with the SSH key %s, which is revoked in the Secret %s", what, name, s.secret)
	}
	reason := fmt.Sprintf("which the Secret %s does not hold", s.secret)
	for _, o := range s.others {
		if same(o.key) {
			reason = fmt.Sprintf("whose line in %s of the Secret %s is %s", allowedSigners, s.secret, o.why)
		}
	}
	for _, trusted := range s.trusted {
		switch {
		case !same(trusted.key):
		case !trusted.after.IsZero() && now.Before(trusted.after):
			reason = "which is not valid yet"
		case !trusted.before.IsZero() && !now.Before(trusted.before):
			reason = "which is expired"
		default:
			return nil
		}
	}
	return fault.NewUnverified("%s is signed with the SSH key %s, %s", what, name, reason)
}
