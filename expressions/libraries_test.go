// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"os"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	. "github.com/onsi/gomega"
)

// The libraries of Kubernetes, with what its own documentation says of them.
func TestLibraries(t *testing.T) {
	env := testEnvironment(t)
	object := map[string]any{"object": map[string]any{
		"counts": []any{int64(3), int64(1), int64(2)}, "ratios": []any{0.5, 1.5}, "names": []any{"a", "b", "b"}, "memory": "1.5Gi",
	}}
	for _, text := range []string{
		`quantity("1.5Gi").isGreaterThan(quantity("1Gi")) && quantity("500m").isLessThan(quantity("1"))`,
		`quantity(object.memory).compareTo(quantity("1536Mi")) == 0 && quantity("1024Ki") == quantity("1Mi")`,
		`quantity("50k").add(20).sub(quantity("20")) == quantity("50k") && quantity("-1").sign() == -1`,
		`quantity("50k").isInteger() && quantity("50k").asInteger() == 50000 && !quantity("50.5m").isInteger()`,
		`quantity("0.5").asApproximateFloat() == 0.5 && isQuantity("1.3Gi") && !isQuantity("1,3Gi") && !isQuantity("1e1000000000")`,
		`"abc 123".find("[0-9]+") == "123" && "abc".find("x") == "" && "1 b 2".findAll("[0-9]") == ["1", "2"]`,
		`"1 b 2".findAll("[0-9]", 1) == ["1"] && object.names[0].find(object.names[0]) == "a" && "a1".matches("^[a-z][0-9]$")`,
		`url("https://u:p@h:80/a b?q=1&q=2#f").getHost() == "h:80" || !isURL("https://h/a b")`,
		`url("https://h:80/p/%20?q=1&q=2").getHostname() == "h" && url("https://h:80/").getPort() == "80" && url("https://h/").getScheme() == "https"`,
		`url("https://h/p?q=1&q=2").getQuery() == {"q": ["1", "2"]} && url("https://h/p%20q").getEscapedPath() == "/p%20q" && !isURL("h")`,
		`url("https://h/") == url("https://h/") && url("https://h/") != url("http://h/")`,
		`ip("::1").isLoopback() && ip("10.0.0.1").family() == 4 && isIP("10.0.0.1") && !isIP("10.0.0.256") && ip.isCanonical("::1")`,
		`cidr("10.0.0.0/8").containsIP("10.1.2.3") && cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && cidr("10.0.0.0/8").prefixLength() == 8`,
		`isCIDR("10.0.0.0/8") && string(cidr("10.0.0.0/8").ip()) == "10.0.0.0" && cidr("10.1.0.0/8").masked() == cidr("10.0.0.0/8")`,
		`format.dns1123Label().validate("ok") == optional.none() && format.dns1123Label().validate("NO").hasValue()`,
		`format.named("uuid").value().validate("123e4567-e89b-12d3-a456-426614174000") == optional.none() && !format.named("none").hasValue()`,
		`format.date().validate("2026-02-30").value() == ["invalid date"] && !format.datetime().validate("2026-02-03T04:05:06Z").hasValue()`,
		`!format.byte().validate("aGk=").hasValue() && format.uri().validate("h").hasValue() && !format.labelValue().validate("a.b").hasValue()`,
		`object.counts.sum() == 6 && object.ratios.sum() == 2.0 && [].sum() == 0 && [duration("1m"), duration("1s")].sum() == duration("61s")`,
		`object.counts.min() == 1 && object.counts.max() == 3 && ["b", "a"].min() == "a" && object.names.isSorted() && ![2, 1].isSorted()`,
		`object.names.indexOf("b") == 1 && object.names.lastIndexOf("b") == 2 && object.names.indexOf("c") == -1 && "abcb".lastIndexOf("b") == 3`,
		`semver("1.2.3").isLessThan(semver("1.10.0")) && semver("1.0.0-rc.1").compareTo(semver("1.0.0")) == -1 && semver("1.2.3").minor() == 2`,
		`isSemver("1.2.3") && !isSemver("v1.2") && isSemver("v1.2", true) && semver("v01.2", true) == semver("1.2.0") && semver("2.0.1").patch() == 1`,
		`[1, 2] + [3] == [1, 2, 3] && ([1] + [2])[1] == 2 && object.names + ["c"] == ["a", "b", "b", "c"] && "a" + "b" == "ab"`,
		`["b", "a"].sortBy(e, e) == ["a", "b"] && [1, 1, 2].distinct() == [1, 2] && [[1], [2]].flatten() == [1, 2]`,
	} {
		program, err := env.Compile(text, cel.BoolType)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if holds, err := Evaluate[bool](program, object); err != nil || !holds {
			t.Errorf("%s: %v, %v", text, holds, err)
		}
	}
}

func TestLibrariesRefuse(t *testing.T) {
	g := NewWithT(t)
	env := testEnvironment(t)
	for text, expected := range map[string]string{
		`quantity("x").isInteger()`:            "quantities must match",
		`quantity("1.5").asInteger() == 1`:     "cannot convert value to integer",
		`url("h").getHost() == ""`:             "URL parse error",
		`semver("1").major() == 1`:             "No Major.Minor.Patch elements found",
		`[].min() == 1`:                        "min called on empty list",
		`dyn(["a", "b"]).sum() == dyn("ab")`:   "no such overload",
		`dyn([1]).find("a") == ""`:             "no such overload",
		`quantity("1e1000000000").isInteger()`: "at most 2 digits",
	} {
		program, err := env.Compile(text, cel.BoolType)
		g.Expect(err).NotTo(HaveOccurred(), text)
		_, err = Evaluate[bool](program, nil)
		g.Expect(err).To(MatchError(ContainSubstring(expected)), text)
	}
}

// What the page says is true, and it names every library function that authors may need to look up.
func TestDocumented(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile("../docs/health.md")
	g.Expect(err).NotTo(HaveOccurred())
	_, section, found := strings.Cut(string(page), "## What expressions may use\n")
	g.Expect(found).To(BeTrue())
	section, _, _ = strings.Cut(section, "\n## ")
	table, _, _ := strings.Cut(section, "\nThe formats are ")
	env := testEnvironment(t)
	tried := 0
	for _, line := range strings.Split(table, "\n") {
		for i, text := range strings.Split(line, "`") {
			if i%2 == 0 || !strings.HasPrefix(line, "| ") {
				continue
			}
			program, err := env.Compile(text, cel.BoolType)
			g.Expect(err).NotTo(HaveOccurred(), text)
			holds, err := Evaluate[bool](program, nil)
			g.Expect(err).NotTo(HaveOccurred(), text)
			g.Expect(holds).To(BeTrue(), text)
			tried++
		}
	}
	g.Expect(tried).To(BeNumerically(">", 20))
	for _, format := range formats {
		g.Expect(section).To(ContainSubstring("`" + strings.TrimSuffix(format.name, "Prefix") + "`"))
	}
}
