// SPDX-License-Identifier: Apache-2.0

package git

import (
	"errors"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
)

// configCase is a file, and what git makes of it: lines of name=value.
var configCases = map[string]struct{ given, want string }{
	"usual":        {"[submodule \"a\"]\n\tpath = a/b\n\turl = ../x.git\n", "submodule.a.path=a/b\nsubmodule.a.url=../x.git"},
	"comments":     {"# x\n; y\n[a] # z\nk = v ; w\nl = v#w\n", "a.k=v\na.l=v"},
	"quotes":       {"[a \"b \\\" \\\\ c\"]\nk = \"v ; # w\"  \nl = a\" b \"c\n", "a.b \" \\ c.k=v ; # w\na.b \" \\ c.l=a b c"},
	"escapes":      {"[a]\nk = a\\tb\\\\c\\\"\n", "a.k=a\tb\\c\""},
	"continuation": {"[a]\nk = one \\\n two\n", "a.k=one  two"},
	"line ends":    {"[a]\r\nk = v\r\n", "a.k=v"},
	"cases":        {"[SubModule \"X\"]\nURL = V\n", "submodule.X.url=V"},
	"one line":     {"[a] k = v\n", "a.k=v"},
	"spaces":       {"  [a]\n   k   =   v w   \n", "a.k=v w"},
	"no end":       {"[a]\nk = v", "a.k=v"},
	"empty value":  {"[a]\nk =\n", "a.k="},
	"mark":         {"\ufeff[a]\nk=v\n", "a.k=v"},
}

// TestParseConfigAsGitDoes holds the parser against git itself.
func TestParseConfigAsGitDoes(t *testing.T) {
	for name, tc := range configCases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cmd := exec.Command("git", "config", "--file", "-", "--list")
			cmd.Stdin = strings.NewReader(tc.given)
			out, err := cmd.Output()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(strings.TrimSuffix(string(out), "\n")).To(Equal(tc.want))
			settings, err := parseConfig("f", []byte(tc.given))
			g.Expect(err).NotTo(HaveOccurred())
			var lines []string
			for _, s := range settings {
				full := s.section + "."
				if s.subsection != "" {
					full += s.subsection + "."
				}
				lines = append(lines, full+s.key+"="+s.value)
			}
			g.Expect(strings.Join(lines, "\n")).To(Equal(tc.want))
		})
	}
	for name, given := range map[string]string{
		"open section": "[a\nk=v", "open quotes": "[a]\nk=\"v\n", "unknown escape": "[a]\nk=\\x\n", "no equals": "[a]\nk v\n",
		"open subsection": "[a \"b]\nk=v\n", "nameless": "[]\nk=v\n", "odd key": "[a]\n%=v\n",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cmd := exec.Command("git", "config", "--file", "-", "--list")
			cmd.Stdin = strings.NewReader(given)
			g.Expect(cmd.Run()).NotTo(Succeed())
			_, err := parseConfig("f", []byte(given))
			g.Expect(errors.Is(err, fault.ErrContent)).To(BeTrue(), "%v", err)
		})
	}
	_, err := parseConfig("f", make([]byte, configBytes+1))
	NewWithT(t).Expect(errors.Is(err, fault.ErrLimit)).To(BeTrue(), "%v", err)
}

func TestSubmoduleURL(t *testing.T) {
	for _, tc := range []struct{ base, given, want string }{
		{"https://git.test/team/app.git", "../lib.git", "https://git.test/team/lib.git"},
		{"https://git.test/team/app.git/", "../lib.git", "https://git.test/team/lib.git"},
		{"https://git.test/team/app.git", "../../other/lib.git", "https://git.test/other/lib.git"},
		{"https://git.test/team/app.git", "./sub.git", "https://git.test/team/app.git/sub.git"},
		{"https://git.test:8443/my%20team/app.git", "../a%20lib.git", "https://git.test:8443/my%20team/a%20lib.git"},
		{"ssh://git@git.test:2222/team/app.git", "../lib.git", "ssh://git@git.test:2222/team/lib.git"},
		{"ssh://git@git.test/~me/app.git", "../lib.git", "ssh://git@git.test/~me/lib.git"},
		{"https://git.test/app.git", "https://other.test/lib.git", "https://other.test/lib.git"},
		{"https://git.test/app.git", "git@other.test:lib.git", "ssh://git@other.test/lib.git"},
		{"https://git.test/app.git", "../../lib.git", ""},
		{"https://git.test/app.git", "../", ""},
		{"https://git.test/app.git", "../a/../b", ""},
		{"https://git.test/app.git", "../a b", ""},
		{"https://git.test/app.git", "../a?x=y", ""},
		{"file:///srv/app.git", "../lib.git", ""},
		{"https://git.test/app.git", "lib.git", ""},
		{"https://git.test/app.git", "", ""},
	} {
		t.Run(tc.base+" "+tc.given, func(t *testing.T) {
			g := NewWithT(t)
			base, err := ParseURL(tc.base)
			g.Expect(err).NotTo(HaveOccurred())
			u, err := (&Backend{url: base}).resolveURL(tc.given)
			if tc.want == "" {
				g.Expect(fault.Kind(err)).NotTo(BeNil(), "%v", u)
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(u.String()).To(Equal(tc.want))
		})
	}
}

// TestModulesFileThatIsALink: what a link leads to is not what git would have read.
func TestModulesFileThatIsALink(t *testing.T) {
	g := NewWithT(t)
	builder := tree.NewBuilder(backend.DefaultLimits())
	g.Expect(builder.File("modules", []byte("[submodule \"m\"]\npath = m\nurl = ../ok.git\n"), false)).To(Succeed())
	g.Expect(builder.Link(".gitmodules", "modules")).To(Succeed())
	g.Expect(builder.Submodule("m", strings.Repeat("1", 40))).To(Succeed())
	submodules := (&Backend{url: &url.URL{}}).Submodules(builder.Build())
	g.Expect(submodules).To(HaveLen(1))
	g.Expect(submodules[0].Err).To(MatchError(ContainSubstring("no entry for it")))
	g.Expect(submodules[0].Backend).To(BeNil())
}

func FuzzModules(f *testing.F) {
	for _, tc := range configCases {
		f.Add([]byte(tc.given))
	}
	f.Add([]byte("[submodule \"a\"]\npath = ../a\nurl = ext::x\n"))
	f.Add([]byte("[submodule \"..\"]\npath = a\nurl = ../../../x\nupdate = !sh\n"))
	base, err := url.Parse("https://git.test/team/app.git")
	if err != nil {
		f.Fatal(err)
	}
	b := &Backend{url: base}
	f.Fuzz(func(t *testing.T, data []byte) {
		modules, err := parseModules(data)
		if err != nil && fault.Kind(err) == nil {
			t.Fatalf("an error without kind: %v", err)
		}
		for path, m := range modules {
			if m.err != nil {
				continue
			}
			if leaves(path) {
				t.Fatalf("the path %q leaves the repository", path)
			}
			u, err := b.resolveURL(m.url)
			switch {
			case err != nil && fault.Kind(err) == nil:
				t.Fatalf("an error without kind: %v", err)
			case err == nil && (u.Scheme == "file" || u.Hostname() == "" || strings.Contains(u.Path, "/../")):
				t.Fatalf("%q becomes %q", m.url, u)
			}
		}
	})
}
