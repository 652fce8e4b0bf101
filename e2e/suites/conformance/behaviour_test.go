// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// behaviour is one thing that is done to every kind, and has to be seen to be the same.
type behaviour struct {
	name string
	// does the thing and records what it sees.
	does func(context.Context, *probe)
	// of says which subjects take part; all of them when nil.
	of func(*subject) bool
	// like is the role that convoy follows where the built-in kind and the custom kind
	// differ, or where one of them does not take part, and why the reason. Elsewhere the
	// two must not differ.
	like role
	why  string
	// finding says what convoy does otherwise and must not. Such a behaviour fails; once
	// it is mended it fails too, until the finding is struck out here.
	finding string
	// decided says where it is written why convoy does otherwise on purpose. Such a
	// behaviour must differ: once it does not, it is struck out here and there.
	decided string
}

// Choices for behaviour.of.
func onlyPrincipals(s *subject) bool {
	return s.kind == "Deployment" || s.kind == "Widget" || s.kind == "Release"
}

// freelyNamed leaves out the kind whose objects have the names of others.
func freelyNamed(s *subject) bool { return s.kind != "ReleaseInventory" }

func namespaced(s *subject) bool  { return !s.global }
func hasEnum(s *subject) bool     { return s.enum != nil }
func hasFixed(s *subject) bool    { return s.fixed != nil }
func hasItems(s *subject) bool    { return s.items != nil }
func hasScalar(s *subject) bool   { return s.managed == "" }
func hasRequired(s *subject) bool { return s.required != nil }

// noHandWork is why convoy follows built-in kinds where an answer comes from how paths and
// methods are bound to handlers: it has the library's, custom resources have their own.
const noHandWork = "paths and methods are bound by the library of built-in kinds"

const behaviourTimeout = 2 * time.Minute

// table makes a spec of each behaviour.
func table(behaviours ...behaviour) {
	for _, b := range behaviours {
		var args []any
		if b.finding != "" {
			args = append(args, Label("finding"))
		}
		It(b.name, append(args, b.check, NodeTimeout(behaviourTimeout))...)
	}
}

// check observes all subjects at once, and compares what was seen within each scope.
func (b behaviour) check(ctx SpecContext) {
	taking := b.subjects()
	seen := observe(ctx, b, taking)
	var differences []string
	for _, global := range []bool{false, true} {
		differences = append(differences, b.compare(taking, seen, global)...)
	}
	switch text := strings.Join(differences, "\n"); {
	case b.decided != "" && text == "":
		Fail("nothing differs any more: strike it out here and in " + b.decided)
	case b.decided != "":
	case b.finding != "" && text == "":
		Fail("nothing differs any more: strike out the finding of this behaviour: " + b.finding)
	case b.finding != "":
		Fail("finding: " + b.finding + "\n" + text)
	case text != "":
		Fail(text)
	}
}

func (b behaviour) subjects() []*subject {
	var taking []*subject
	for _, s := range subjects {
		if b.of == nil || b.of(s) {
			taking = append(taking, s)
		}
	}
	return taking
}

// observe does the thing to all subjects at once, each in its namespace.
func observe(ctx context.Context, b behaviour, taking []*subject) map[*subject][]string {
	GinkgoHelper()
	seen := make(map[*subject][]string, len(taking))
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, s := range taking {
		all.Go(func() {
			defer GinkgoRecover()
			p := newProbe(ctx, s)
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				seen[s] = p.lines
				b.keep(s, p.lines)
			}()
			b.does(ctx, p)
		})
	}
	all.Wait()
	return seen
}

// keep writes a record beside the logs, which a suite that failed leaves.
func (b behaviour) keep(s *subject, lines []string) {
	folder := filepath.Join(suite.dir, "records", strings.ReplaceAll(CurrentSpecReport().FullText(), "/", "-"))
	Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(folder, s.kind+s.part), []byte(strings.Join(lines, "\n")+"\n"), 0o644)).To(Succeed())
}

// compare returns what differs within a scope, a text for each kind.
func (b behaviour) compare(taking []*subject, seen map[*subject][]string, global bool) []string {
	var reference *subject
	models := map[role]*subject{}
	for _, s := range taking {
		if s.global == global && s.role != ours && models[s.role] == nil {
			models[s.role] = s
		}
	}
	between := ""
	switch compared := models[builtin] != nil && models[custom] != nil; {
	case compared:
		between = difference(seen[models[builtin]], seen[models[custom]])
	case models[b.like] == nil:
		return b.without(taking, global)
	}
	switch {
	case b.like == "" && between != "":
		return undecided(models, taking, seen, between)
	case b.like != "" && between == "" && models[builtin] != nil && models[custom] != nil:
		return []string{fmt.Sprintf("%s is like %s: it need not be said which one convoy follows", models[custom].kind, models[builtin].kind)}
	case b.like == "":
		reference = models[builtin]
	default:
		reference = models[b.like]
	}
	return grouped(taking, global, func(s *subject) string {
		text := difference(seen[reference], seen[s])
		if text == "" {
			return ""
		}
		return "is not like " + reference.kind + ":" + text
	})
}

// undecided shows all that is needed to decide which reference convoy follows.
func undecided(models map[role]*subject, taking []*subject, seen map[*subject][]string, between string) []string {
	from, to := models[builtin], models[custom]
	return append([]string{fmt.Sprintf("%s is not like %s, and it is not said which one convoy follows:%s", to.kind, from.kind, between)},
		grouped(taking, from.global, func(s *subject) string {
			return "is to the built-in:" + difference(seen[from], seen[s]) + "\n    to the custom:" + difference(seen[to], seen[s])
		})...)
}

// grouped says something about each of convoy's kinds of a scope, and of those of which the
// same is to be said, at once.
func grouped(taking []*subject, global bool, say func(*subject) string) []string {
	var texts []string
	kinds := map[string][]string{}
	for _, s := range taking {
		if s.global != global || s.role != ours {
			continue
		}
		text := say(s)
		if text != "" && kinds[text] == nil {
			texts = append(texts, text)
		}
		kinds[text] = append(kinds[text], s.kind)
	}
	for i, text := range texts {
		texts[i] = strings.Join(kinds[text], ", ") + " " + text
	}
	return texts
}

// without is for a scope in which a reference takes no part: then nobody does.
func (b behaviour) without(taking []*subject, global bool) []string {
	for _, s := range taking {
		if s.global == global && s.role == ours {
			return []string{s.kind + " has nothing to be compared with"}
		}
	}
	return nil
}
