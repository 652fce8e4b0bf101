// SPDX-License-Identifier: Apache-2.0

package ruletest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/health"
)

// wellKnown is the folder of the rules that convoy ships for the kinds of others.
const wellKnown = "../../config/health-rules"

// prefix of the names of its sets. It sorts late, so that most names go before it.
const prefix = "well-known-"

// example is a case of testdata: what must be made of an object with all sets of the
// folder. Its rule is a name in the set of the file's name, or that of a built-in one.
type example struct {
	Name  string          `json:"name"`
	Given json.RawMessage `json:"given"`
	Want  struct {
		Status  corev1alpha1.HealthStatus `json:"status"`
		Message string                    `json:"message"`
		Rule    string                    `json:"rule"`
	} `json:"want"`
}

func (e example) object(g Gomega) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	g.Expect(object.UnmarshalJSON(e.Given)).To(Succeed(), e.Name)
	return object
}

// rule is the whole name of the rule that must decide.
func (e example) rule(operator string) string {
	if strings.Contains(e.Want.Rule, "/") {
		return e.Want.Rule
	}
	return kindGlobal + "/" + prefix + operator + "/" + e.Want.Rule
}

// loadWellKnown compiles the sets once for all tests.
var loadWellKnown = sync.OnceValues(func() ([]*Set, error) {
	names, err := filepath.Glob(wellKnown + "/*.yaml")
	if err != nil {
		return nil, err
	}
	files := make([]File, len(names))
	for i, name := range names {
		if files[i].Data, err = os.ReadFile(name); err != nil {
			return nil, err
		}
		files[i].Name = name
	}
	return ReadRules(files...)
})

func readWellKnown(g Gomega) []*Set {
	sets, err := loadWellKnown()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(sets)).To(BeNumerically(">=", 25))
	return sets
}

// readExamples gives the examples of each operator.
func readExamples(g Gomega) map[string][]example {
	names, err := filepath.Glob("testdata/well-known/*.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	examples := map[string][]example{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		g.Expect(err).NotTo(HaveOccurred())
		var some []example
		g.Expect(yaml.UnmarshalStrict(data, &some)).To(Succeed(), name)
		examples[strings.TrimSuffix(filepath.Base(name), ".yaml")] = some
	}
	return examples
}

func TestWellKnownExamples(t *testing.T) {
	g := NewWithT(t)
	assessor := Assessor(readWellKnown(g))
	for operator, examples := range readExamples(g) {
		for _, test := range examples {
			t.Run(operator+"/"+test.Name, func(t *testing.T) {
				g := NewWithT(t)
				got := assessor.Assess(test.object(g))
				g.Expect(got).To(Equal(health.Result{Status: test.Want.Status, Message: test.Want.Message, Rule: test.rule(operator)}))
				if got.Status == corev1alpha1.HealthProgressing || got.Status == corev1alpha1.HealthDegraded {
					g.Expect(got.Message).NotTo(BeEmpty(), "say what is waited for, or wrong")
				}
			})
		}
	}
}

// Every expression must decide in an example, and so must none of a rule's.
func TestWellKnownExpressionsAreExercised(t *testing.T) {
	g := NewWithT(t)
	seen := map[string]bool{}
	for operator, examples := range readExamples(g) {
		for _, test := range examples {
			seen[test.rule(operator)+" "+string(test.Want.Status)] = true
		}
	}
	for _, set := range readWellKnown(g) {
		for _, rule := range set.Rules {
			wanted := map[corev1alpha1.HealthStatus]string{
				corev1alpha1.HealthDegraded: rule.Degraded, corev1alpha1.HealthSuspended: rule.Suspended,
				corev1alpha1.HealthHealthy: rule.Healthy, corev1alpha1.HealthProgressing: "none of them",
			}
			if rule.Healthy == "true" {
				delete(wanted, corev1alpha1.HealthProgressing)
			}
			for status, expression := range wanted {
				if expression != "" {
					g.Expect(seen[set.Origin()+"/"+rule.Name+" "+string(status)]).To(BeTrue(), "no example of %s/%s for %s: %s", set.Origin(), rule.Name, status, expression)
				}
			}
		}
	}
}

// Each set is one operator's, in the file of its name, is listed, and says of each rule why
// it is needed.
func TestWellKnownForm(t *testing.T) {
	g := NewWithT(t)
	var kustomization struct {
		Resources []string `json:"resources"`
	}
	data, err := os.ReadFile(wellKnown + "/kustomization.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(yaml.Unmarshal(data, &kustomization)).To(Succeed())
	examples := readExamples(g)
	var files []string
	decided := map[string]string{}
	for _, set := range readWellKnown(g) {
		operator, ok := strings.CutPrefix(set.Name, prefix)
		g.Expect(ok).To(BeTrue(), set.Name)
		g.Expect(set.Kind).To(Equal(kindGlobal))
		g.Expect(filepath.Base(set.source.file)).To(Equal(operator + ".yaml"))
		g.Expect(examples).To(HaveKey(operator))
		files = append(files, operator+".yaml")
		text, err := os.ReadFile(set.source.file)
		g.Expect(err).NotTo(HaveOccurred())
		for _, rule := range set.Rules {
			g.Expect(string(text)).To(MatchRegexp(`(?m)^    # .+\n    - name: `+rule.Name+`$`), "%s: say why %s is needed", set.Name, rule.Name)
			kind := rule.Target.Kind + "." + rule.Target.Group
			g.Expect(decided).NotTo(HaveKey(kind), "%s has two rules for %s", set.Name, kind)
			decided[kind] = set.Name
		}
	}
	g.Expect(kustomization.Resources).To(ConsistOf(files))
}

// An object that nobody has looked at must never break a rule, nor be healthy unless an
// example says that it is.
func TestWellKnownWithoutStatus(t *testing.T) {
	g := NewWithT(t)
	well := map[string]bool{}
	for operator, examples := range readExamples(g) {
		for _, test := range examples {
			if test.object(g).Object["status"] == nil && test.Want.Status == corev1alpha1.HealthHealthy {
				well[test.rule(operator)] = true
			}
		}
	}
	sets := readWellKnown(g)
	assessor := Assessor(sets)
	for _, set := range sets {
		for _, rule := range set.Rules {
			for _, status := range []any{nil, map[string]any{}, map[string]any{"conditions": []any{}}} {
				object := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": rule.Target.Group + "/v1", "kind": rule.Target.Kind, "metadata": map[string]any{"generation": int64(1)},
				}}
				if status != nil {
					object.Object["status"] = status
				}
				got := assessor.Assess(object)
				g.Expect(got.Rule).To(Equal(set.Origin() + "/" + rule.Name))
				g.Expect(got.Message).NotTo(ContainSubstring("of the rule failed"), got.Rule)
				if !well[got.Rule] {
					g.Expect(got.Status).To(Equal(corev1alpha1.HealthProgressing), got.Rule)
					g.Expect(got.Message).NotTo(BeEmpty(), got.Rule)
				}
			}
		}
	}
}

// What a status says of an older generation counts neither for nor against an object.
func TestWellKnownGenerationBehind(t *testing.T) {
	g := NewWithT(t)
	sets := readWellKnown(g)
	assessor := Assessor(sets)
	tried := map[string]bool{}
	for operator, examples := range readExamples(g) {
		for _, test := range examples {
			object := test.object(g)
			status, err := json.Marshal(object.Object["status"])
			g.Expect(err).NotTo(HaveOccurred())
			isOne := test.Want.Status == corev1alpha1.HealthHealthy || test.Want.Status == corev1alpha1.HealthDegraded
			tells := strings.Contains(string(status), "Generation\":") || strings.Contains(string(status), "syncedResourceVersion\":")
			if !isOne || !tells || strings.Contains(test.Name, "as asked for") {
				continue
			}
			tried[test.rule(operator)] = true
			object.SetGeneration(object.GetGeneration() + 1)
			got := assessor.Assess(object)
			g.Expect(got.Status).To(Equal(corev1alpha1.HealthProgressing), "%s/%s, one generation later: %s", operator, test.Name, got.Message)
			g.Expect(got.Message).NotTo(ContainSubstring("of the rule failed"))
		}
	}
	for _, set := range sets {
		for _, rule := range set.Rules {
			if strings.Contains(rule.Healthy, "Generation") {
				g.Expect(tried[set.Origin()+"/"+rule.Name]).To(BeTrue(), "no example of %s with a generation", set.Origin()+"/"+rule.Name)
			}
		}
	}
}

// The page lists every set, with the kinds that it has rules for.
func TestWellKnownDocs(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile("../../docs/health.md")
	g.Expect(err).NotTo(HaveOccurred())
	rows := 0
	for _, set := range readWellKnown(g) {
		var kinds []string
		for _, rule := range set.Rules {
			kinds = append(kinds, rule.Target.Kind)
		}
		g.Expect(string(page)).To(ContainSubstring("\n| `%s` | %s |\n", set.Name, strings.Join(kinds, ", ")))
		rows++
	}
	g.Expect(strings.Count(string(page), "\n| `"+prefix)).To(Equal(rows), "the page has a set that is not there")
}
