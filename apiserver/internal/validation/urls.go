// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxURL  = 2048
	maxPath = 1024
	maxPort = 65535
)

// hidden stands for a value that an error must not repeat.
var hidden = field.OmitValueType{}

// scpForm is the short form of ssh URLs that git takes: user@host:path.
var scpForm = regexp.MustCompile(`^[^/:@]+@[^/:]+:`)

// location checks a URL that is to be connected to. Credentials, and a query, which is
// where tokens are put, are refused; only ssh may name a user, who is no secret.
func location(at *field.Path, raw string, schemes ...string) (*url.URL, field.ErrorList) {
	if raw == "" {
		return nil, field.ErrorList{field.Required(at, "")}
	}
	if errs := short(at, raw, maxURL); errs != nil {
		return nil, errs
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return nil, field.ErrorList{field.Invalid(at, hidden, "may hold no white space and no control characters; a space in a path is written %20")}
	}
	if scpForm.MatchString(raw) && slices.Contains(schemes, "ssh") {
		return nil, field.ErrorList{field.Invalid(at, hidden, "must be a URL; write user@host:path as ssh://user@host/path")}
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(at, hidden, "must be a URL")}
	}
	if !slices.Contains(schemes, u.Scheme) {
		return nil, field.ErrorList{field.Invalid(at, hidden, fmt.Sprintf("must be a URL with one of the schemes %s", strings.Join(schemes, ", ")))}
	}
	return u, slices.Concat(withoutCredentials(at, u), host(at, u), noOption(at, u))
}

func withoutCredentials(at *field.Path, u *url.URL) field.ErrorList {
	var errs field.ErrorList
	if u.User != nil {
		_, password := u.User.Password()
		if u.Scheme != "ssh" || password {
			errs = append(errs, field.Invalid(at, hidden, "may hold no credentials; put them into a Secret and refer to it"))
		}
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		errs = append(errs, field.Invalid(at, hidden, "may have no query and no fragment"))
	}
	return errs
}

func host(at *field.Path, u *url.URL) field.ErrorList {
	if u.Scheme == "file" {
		if u.Host != "" || !path.IsAbs(u.Path) || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") {
			return field.ErrorList{field.Invalid(at, hidden, "must be file:// followed by an absolute path without \"..\"")}
		}
		return nil
	}
	if u.Hostname() == "" || u.Opaque != "" {
		return field.ErrorList{field.Invalid(at, hidden, fmt.Sprintf("must name a host: %s://host/…", u.Scheme))}
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > maxPort {
			return field.ErrorList{field.Invalid(at, hidden, fmt.Sprintf("has a port that is none: ports are 1 to %d", maxPort))}
		}
	}
	return nil
}

// noOption refuses a host or a user that a program like ssh would take for an option. None
// has such a name.
func noOption(at *field.Path, u *url.URL) field.ErrorList {
	if strings.HasPrefix(u.Hostname(), "-") || strings.HasPrefix(u.User.Username(), "-") {
		return field.ErrorList{field.Invalid(at, hidden, "may have no host and no user that begins with \"-\"")}
	}
	return nil
}

// inside checks a path that is relative to base, a folder of a source, and may not leave
// the source's root.
func inside(at *field.Path, base, value string) field.ErrorList {
	switch {
	case len(value) > maxPath:
		return field.ErrorList{field.TooLong(at, "", maxPath)}
	case strings.ContainsAny(value, "\\\x00\n\r"):
		return field.ErrorList{field.Invalid(at, value, "may hold no backslash, line break or NUL")}
	case path.IsAbs(value):
		return field.ErrorList{field.Invalid(at, value, "must be relative")}
	}
	if joined := path.Join(base, value); joined == ".." || strings.HasPrefix(joined, "../") {
		return field.ErrorList{field.Invalid(at, value, "may not leave the source's root")}
	}
	return nil
}

// contentPath checks the path of content from the root of its source.
func contentPath(at *field.Path, value string) field.ErrorList {
	if slices.Contains(strings.Split(value, "/"), "..") {
		return field.ErrorList{field.Invalid(at, value, "may not contain \"..\"")}
	}
	return inside(at, ".", value)
}

// file checks the path of a file, which must be there, relative to base.
func file(at *field.Path, base, value string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(at, "")}
	}
	return inside(at, base, value)
}
