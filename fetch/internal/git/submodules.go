// SPDX-License-Identifier: Apache-2.0

package git

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
)

const modulesFile = ".gitmodules"

// Submodule is a directory whose content another repository holds.
type Submodule struct {
	Path, Commit string
	// URL as it may be shown.
	URL string
	// Backend reads the other repository, with Access; nil when Err says why it cannot.
	Backend *Backend
	Access  *access.Access
	Err     error
	// Unwanted says that the repository itself wants the directory to stay empty.
	Unwanted bool
}

// Submodules returns the submodules of a tree, with what its .gitmodules file says of them.
// Each has an error of its own, of the file as a whole too: it concerns nobody but those who
// read the submodule.
func (b *Backend) Submodules(t *tree.Tree) []Submodule {
	links, _ := t.Parts()
	if len(links) == 0 {
		return nil
	}
	modules, err := readModules(t)
	submodules := make([]Submodule, 0, len(links))
	for _, link := range links {
		s := Submodule{Path: link.Path, Commit: link.Commit}
		switch module, ok := modules[link.Path]; {
		case err != nil:
			s.Err = err
		case module.err != nil:
			s.Err = module.err
		case !ok:
			s.Err = fault.New(fault.ErrContent, "the file %s has no entry for it", modulesFile)
		case module.update == "none":
			s.Unwanted = true
		default:
			b.locate(&s, module.url)
		}
		submodules = append(submodules, s)
	}
	return submodules
}

// module is what .gitmodules says of a submodule, or what is wrong with that.
type module struct {
	path, url, update string
	err               error
}

// readModules returns the entries of .gitmodules by path. Branches and commands in it
// decide nothing: a submodule is what the commit says.
func readModules(t *tree.Tree) (map[string]module, error) {
	data, ok := t.Regular(modulesFile)
	if !ok {
		return nil, nil
	}
	return parseModules(data)
}

func parseModules(data []byte) (map[string]module, error) {
	settings, err := parseConfig(modulesFile, data)
	if err != nil {
		return nil, err
	}
	named := map[string]module{}
	for _, s := range settings {
		if s.section != "submodule" || s.subsection == "" {
			continue
		}
		m := named[s.subsection]
		switch s.key {
		case "path":
			m.path = strings.TrimSuffix(s.value, "/")
		case "url":
			m.url = s.value
		case "update":
			m.update = s.value
		}
		named[s.subsection] = m
	}
	modules := map[string]module{}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		m := named[name]
		switch _, twice := modules[m.path]; {
		case m.path == "":
			continue
		case leaves(m.path):
			// No submodule is there. It is said of the one whose name this is, most often its path.
			if _, ok := modules[name]; !ok {
				modules[name] = module{err: fault.New(fault.ErrContent, "the file %s names the forbidden path %q", modulesFile, m.path)}
			}
			continue
		case leaves(name):
			m.err = fault.New(fault.ErrContent, "the file %s has the forbidden name %q for it", modulesFile, name)
		case twice && modules[m.path].path == m.path:
			m.err = fault.New(fault.ErrContent, "the file %s names the path %q twice", modulesFile, m.path)
		}
		modules[m.path] = m
	}
	return modules, nil
}

// leaves says whether a path could lead out of the repository.
func leaves(path string) bool {
	elements := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	return strings.HasPrefix(path, "/") || slices.Contains(elements, "..") || slices.Contains(elements, ".git")
}

// locate finds where a submodule comes from and what may be sent there.
func (b *Backend) locate(s *Submodule, raw string) {
	// The message of an error must not show credentials that somebody wrote into the file.
	s.URL = fault.URL(raw)
	u, err := b.resolveURL(raw)
	if err != nil {
		s.Err = err
		return
	}
	s.URL = fault.URL(u.String())
	s.Access = b.access.For(b.url, u)
	if u.Scheme == "ssh" && s.Access != b.access {
		s.Err = fault.New(fault.ErrUnauthorized, "ssh needs credentials, and those of the repository go to its own scheme, host and port only; use an https or a relative url in %s", modulesFile)
		return
	}
	s.Backend = &Backend{url: u, access: s.Access, options: b.options, recurse: true, github: b.github && s.Access == b.access}
}

// resolveURL reads the address of a submodule. One that begins with ./ or ../ is relative
// to the repository's own address.
func (b *Backend) resolveURL(raw string) (*url.URL, error) {
	if raw == "" {
		return nil, fault.New(fault.ErrContent, "the file %s has no url for it", modulesFile)
	}
	onDisk := fault.New(fault.ErrInvalid, "submodules are not read from the disk of the process")
	if b.url.Scheme == "file" && strings.HasPrefix(raw, ".") {
		return nil, onDisk
	}
	if strings.HasPrefix(raw, "./") || strings.HasPrefix(raw, "../") {
		var err error
		if raw, err = joinURL(b.url, raw); err != nil {
			return nil, err
		}
	}
	u, err := ParseURL(raw)
	if err == nil && u.Scheme == "file" {
		err = onDisk
	}
	return u, err
}

func joinURL(base *url.URL, relative string) (string, error) {
	path := strings.TrimRight(base.EscapedPath(), "/")
	for {
		if rest, ok := strings.CutPrefix(relative, "./"); ok {
			relative = rest
			continue
		}
		rest, ok := strings.CutPrefix(relative, "../")
		if !ok {
			break
		}
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			return "", fault.New(fault.ErrContent, "the relative url leads out of the host")
		}
		relative, path = rest, path[:i]
	}
	if relative == "" || leaves(relative) {
		return "", fault.New(fault.ErrContent, "the relative url is malformed")
	}
	origin := url.URL{Scheme: base.Scheme, User: base.User, Host: base.Host}
	return origin.String() + path + "/" + relative, nil
}
