// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	commitPattern = regexp.MustCompile(`^[0-9a-fA-F]{40}$`)
	digestPattern = regexp.MustCompile(`^(sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})$`)
	tagPattern    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	// repositoryPattern is the grammar of repository names of the OCI distribution specification.
	repositoryPattern = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	chartPattern      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)
	mediaTypePattern  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}$`)
)

const (
	maxRevision   = 512
	maxRepository = 255
)

// semverRange checks a range of versions; an exact version is one, too. An underscore is
// taken for the plus that tags cannot hold, as it is when versions are chosen.
func semverRange(path *field.Path, value string) field.ErrorList {
	if errs := short(path, value, maxRevision); errs != nil {
		return errs
	}
	if _, err := semver.NewConstraint(strings.ReplaceAll(value, "_", "+")); err != nil {
		return field.ErrorList{field.Invalid(path, value, "must be a semver range, for example >=1.2.0 <2.0.0 or 1.x")}
	}
	return nil
}

// commit checks the full id of a Git commit.
func commit(path *field.Path, value string) field.ErrorList {
	if !commitPattern.MatchString(value) {
		return field.ErrorList{field.Invalid(path, value, "must be a full commit id of 40 hex digits; repositories with ids of SHA-256 cannot be read")}
	}
	return nil
}

// digest checks a content digest.
func digest(path *field.Path, value string) field.ErrorList {
	if !digestPattern.MatchString(value) {
		return field.ErrorList{field.Invalid(path, value, "must be <algorithm>:<hex digits> with the algorithm sha256, sha384 or sha512, for example sha256:… with 64 lower-case digits")}
	}
	return nil
}

// tag checks the tag of an OCI artifact.
func tag(path *field.Path, value string) field.ErrorList {
	if !tagPattern.MatchString(value) {
		return field.ErrorList{field.Invalid(path, value, "must be a tag: at most 128 letters, digits, '_', '.' and '-', not beginning with '.' or '-'")}
	}
	return nil
}

// repository checks the name of a repository in an OCI registry.
func repository(path *field.Path, value string) field.ErrorList {
	switch {
	case value == "":
		return field.ErrorList{field.Required(path, "")}
	case len(value) > maxRepository:
		return field.ErrorList{field.TooLong(path, "", maxRepository)}
	case !repositoryPattern.MatchString(value):
		return field.ErrorList{field.Invalid(path, value, "must be a repository name: lower-case letters, digits and single separators, parts divided by '/', without tag or digest")}
	}
	return nil
}

// gitRefName checks a branch, a tag or a full reference by the rules of git-check-ref-format.
func gitRefName(path *field.Path, value string) field.ErrorList {
	if errs := short(path, value, maxRevision); errs != nil {
		return errs
	}
	if !validGitRefName(value) {
		return field.ErrorList{field.Invalid(path, value, "must be a valid Git reference name")}
	}
	return nil
}

func validGitRefName(value string) bool {
	for _, forbidden := range []string{"..", "//", "@{", " ", "~", "^", ":", "?", "*", "[", "\\"} {
		if strings.Contains(value, forbidden) {
			return false
		}
	}
	for _, part := range strings.Split(value, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	return value != "@" && !strings.HasPrefix(value, "-") && !strings.HasSuffix(value, ".") && strings.IndexFunc(value, control) < 0
}

// fullGitRefName checks a full reference.
func fullGitRefName(path *field.Path, value string) field.ErrorList {
	if value == "HEAD" {
		return nil
	}
	if !strings.HasPrefix(value, "refs/") {
		return field.ErrorList{field.Invalid(path, value, "must be a full reference name, for example refs/heads/main or refs/pull/7/head")}
	}
	return gitRefName(path, value)
}
