// SPDX-License-Identifier: Apache-2.0

package access

import (
	"net/url"
	"strings"
	"unicode"

	"kumodo.io/convoy/fetch/internal/fault"
)

// ParseURL reads the address of a source. The error is fault.ErrInvalid and shows nothing
// of the address.
func ParseURL(raw string) (*url.URL, error) {
	if err := CheckAddress(raw); err != nil {
		return nil, err
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fault.New(fault.ErrInvalid, "the url is no URL")
	}
	if strings.ContainsFunc(u.Path+u.User.Username(), unicode.IsControl) {
		return nil, fault.New(fault.ErrInvalid, "the url holds an encoded control character, such as %%0A; take it out")
	}
	return u, nil
}

// CheckAddress refuses an address with characters that no address has, and that net/url
// takes all the same: spaces, and what cannot be seen. The error is fault.ErrInvalid and
// names the character only.
func CheckAddress(raw string) error {
	for _, r := range raw {
		switch {
		case r == ' ':
			return fault.New(fault.ErrInvalid, "the url holds a space; take it out, or write %%20 where it belongs to the path")
		case unicode.IsSpace(r), !unicode.IsPrint(r):
			return fault.New(fault.ErrInvalid, "the url holds the character %U, which cannot be seen; take it out", r)
		}
	}
	return nil
}
