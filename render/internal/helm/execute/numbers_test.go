// SPDX-License-Identifier: Apache-2.0

package execute_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"

	"kumodo.io/convoy/render/internal/helm/execute"
	"kumodo.io/convoy/render/internal/values"
)

// expressions are what charts do with a number v; m is 1001, f is 1.5.
var expressions = []string{
	// Printed.
	`.v`, `"x" | print $x`, `$x`, `index . "v"`, `(dict "a" .v).a`, `.v | default 5`, `ternary .v 1 true`, `coalesce nil .v`,
	`quote .v`, `squote .v`, `toString .v`, `print .v`, `print .v .m`, `println .v`, `cat .v "x"`, `printf "%v" .v`, `printf "%s" (toString .v)`,
	`printf "%v %v" .v .l`, `.l`, `.d`, `.`, `list .v`, `dict "a" (list .v)`, `quote .l`, `toString .d`, `join "," .l`, `toStrings .l`, `sortAlpha .l`, `html .v`, `js .v`, `urlquery .v`,
	`range .l`, `get .d "v"`, `first .l`, `dict .v "x" | toJson`, `tpl "{{ .v }}" .`, `printf "%5v|%-5v|%+v" .v .v .v`, `toString .v | trunc 12`, `.v | toString | b64enc`, `.v | toString | sha256sum`,
	// Encoded.
	`toYaml .v`, `toYaml .d`, `toJson .v`, `toJson .l`, `toRawJson .d`, `toPrettyJson .d`, `mustToJson .d`, `toYamlPretty .d`, `toToml .d`,
	`(toYaml .d | fromYaml).v`, `(toJson .d | fromJson).v`, `toYaml .d | fromYaml | toYaml`, `printf "a: %v" .v | fromYaml | toJson`, `toJson .l | fromJsonArray`, `toYaml .l | fromYamlArray | toJson`, `toJson .d | mustFromJson | toJson`, `toJson .v | mustFromJson`,
	// By a verb.
	`printf "%.0f" .v`, `printf "%f" .v`, `printf "%e" .v`, `printf "%g" .v`, `printf "%.2f" .v`, `printf "%10.1f" .v`, `printf "%d" .v`, `printf "%d" (int64 .v)`, `printf "%s" .v`, `printf "%x" (int64 .v)`,
	`printf "a" .v`, `printf "%s" "a" .v .l`, `printf "%T" .v`, `printf "%#v" .v`, `printf "%.3v" .v`, `printf "%[1]v %[1]T" .v`, `printf "%*v" 5 .v`, `printf "%v %d%%" .v 5`, `printf "%q" (toString .v)`, `printf "%.1f" .l`,
	// Compared.
	`eq .v .v`, `eq .v .m`, `ne .v .m`, `lt .m .v`, `le .v .m`, `gt .v .m`, `ge .v .f`, `eq .v 20161216.0`, `eq .v 1000000.0`, `gt .v 5.0`, `lt .v 0.0`, `gt .v 5`, `eq .v 1000000`, `eq .v "1000000"`, `ne .v nil`,
	`eq (int .v) 1000000`, `gt (int64 .v) 5`, `eq (float64 .v) 1000000.0`, `eq .m .f .v`, `eq (toString .v) "1000000"`, `deepEqual .v 1000000.0`, `deepEqual .l .l`, `has 1000000.0 .l`, `has .v .l`, `has .m .l`,
	`uniq (list .v .v .m)`, `without .l .v`, `and .v true`, `or .v "x"`, `not .v`, `if .v`, `empty .v`, `eq .m 1001.0`,
	// Counted.
	`int .v`, `int64 .v`, `float64 .v`, `add .v 1`, `add1 .v`, `sub .v 1`, `mul .v 2`, `div .v 1000`, `mod .v 7`, `max .v 5`, `min .v 5`, `maxf .v 5`, `minf .v 5.5`, `floor .v`, `ceil .v`, `round .v 2`,
	`addf .v 1.5`, `subf .v 0.5`, `mulf .v 2`, `divf .v 4`, `int .v | add 1 | toString`, `mul .v 1024 1024`, `until (int .small)`, `untilStep 0 (int .small) 5`, `duration .v`, `durationRound .v`,
	// Asked for its type.
	`kindOf .v`, `typeOf .v`, `kindIs "float64" .v`, `typeIs "float64" .v`, `kindIs "int64" .v`, `typeIsLike "float64" .v`, `kindOf (int64 .v)`, `typeOf .l`,
	// Literals.
	`1000000`, `1000000.0`, `1e6`, `print 1000000.0`, `kindOf 1000000`, `printf "%d" 1000000`, `printf "%v" 2500000.5`, `1e21`, `mulf 1000 1000 1.5`, `-1000000.0`,
}

// given are numbers as they stand in values.
var given = []string{
	"0", "100", "999999", "1000000", "20161216", "1000650000", "2147483648", "9007199254740991", "9007199254740992", "-9007199254740992", "-5000000", "1.0", "1.5", "2500000.5", "1e6", "20161216.0",
	"1e21", "1152921504606846976", "9007199254740993", "-9007199254740993", "9223372036854775807", "18446744073709551615",
}

const exactUpTo = 1 << 53

// long are the integers that floating point numbers do not hold for sure.
func long(n string) bool {
	i, err := strconv.ParseInt(n, 10, 64)
	return err != nil && !strings.ContainsAny(n, ".e") || err == nil && (i > exactUpTo || i < -exactUpTo)
}

// Where convoy gives something else than Helm, on purpose:
//
//   - whole numbers from a million to 2^53 print with their digits, and so does what is made
//     of the printed (madeOfPrinted);
//   - long integers have all their digits in the place of rounded ones, wherever Helm's
//     number is printed, encoded, compared or counted with;
//   - long integers are integers by asInteger: what these give is what Helm gives for an
//     integer that did not come from values.
//
// By asFloat, large numbers stay floating point numbers.
var (
	madeOfPrinted = map[string]func(string) string{
		`urlquery .v`:                url.QueryEscape,
		`toString .v | trunc 12`:     func(s string) string { return s[:min(12, len(s))] },
		`.v | toString | b64enc`:     func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		`.v | toString | sha256sum`:  func(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) },
		`eq (toString .v) "1000000"`: func(s string) string { return strconv.FormatBool(s == "1000000") },
	}
	asFloat = []string{
		`printf "a" .v`, `printf "%s" "a" .v .l`,
		`printf "%e" .v`, `printf "%g" .v`, `printf "%#v" .v`, `printf "%.3v" .v`, `printf "%d" .v`, `printf "%s" .v`,
		`float64 .v`, `maxf .v 5`, `floor .v`, `ceil .v`, `round .v 2`, `addf .v 1.5`, `subf .v 0.5`, `mulf .v 2`, `divf .v 4`,
	}
	asInteger = []string{
		`printf "a" .v`, `printf "%s" "a" .v .l`,
		`printf "%d" .v`, `printf "%d" (int64 .v)`, `printf "%s" .v`, `printf "%x" (int64 .v)`, `printf "%T" .v`, `printf "%#v" .v`, `printf "%.3v" .v`, `printf "%[1]v %[1]T" .v`,
		`gt .v 5`, `eq .v 1000000`, `gt (int64 .v) 5`,
		`int .v`, `int64 .v`, `add .v 1`, `add1 .v`, `sub .v 1`, `mul .v 2`, `div .v 1000`, `mod .v 7`, `max .v 5`, `min .v 5`, `int .v | add 1 | toString`, `mul .v 1024 1024`, `duration .v`, `durationRound .v`,
		`kindOf .v`, `typeOf .v`, `kindIs "float64" .v`, `typeIs "float64" .v`, `kindIs "int64" .v`, `typeIsLike "float64" .v`,
	}
)

var exponent = regexp.MustCompile(`-?[0-9](?:\.[0-9]+)?e\+[0-9]+`)

var number = regexp.MustCompile(`-?[0-9](?:\.[0-9]+)?e\+[0-9]+|-?[0-9]{15,}(?:\.[0-9]+)?`)

// rounded writes the large numbers in a text as the floating point numbers next to them.
func rounded(text string) string {
	return number.ReplaceAllStringFunc(text, func(number string) string {
		f, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return number
		}
		return strconv.FormatFloat(f, 'e', -1, 64)
	})
}

// digits writes the whole numbers in a text without exponents.
func digits(text string) string {
	return exponent.ReplaceAllStringFunc(text, func(number string) string {
		f, err := strconv.ParseFloat(number, 64)
		if err != nil || f != math.Trunc(f) || math.Abs(f) > exactUpTo {
			return number
		}
		return strconv.FormatFloat(f, 'f', 0, 64)
	})
}

func chartFor(expression string) *chart.Chart {
	c := &chart.Chart{Metadata: &chart.Metadata{Name: "web", Version: "1.0.0"}}
	body := "{{ " + expression + " }}"
	if strings.HasPrefix(expression, "range") || strings.HasPrefix(expression, "if") {
		body += "{{ . }}{{ end }}"
	}
	c.Templates = []*chart.File{{Name: "templates/a.yaml", Data: []byte("{{ with .Values }}{{ $x := .v }}{{ if false }}{{ $x }}{{ end }}" + body + "{{ end }}")}}
	return c
}

func valuesOf(n string) string {
	return "v: " + n + "\nm: 1001\nf: 1.5\nsmall: 10\nl: [" + n + "]\nd: {v: " + n + "}\n"
}

// TestNumbersAreAsInHelm runs every expression with every number, by Helm's engine and by
// convoy's.
func TestNumbersAreAsInHelm(t *testing.T) {
	other := map[string]bool{}
	for _, expression := range expressions {
		for _, n := range given {
			theirs, theirErr := byHelm(t, expression, helmValues(t, n))
			ours, ourErr := byConvoy(t, expression, convoyValues(t, n))
			switch {
			case ours == theirs && (ourErr == nil) == (theirErr == nil):
				if !slices.Contains(asFloat, expression) && (digits(theirs) != theirs || long(n) && !slices.Contains(asInteger, expression) &&
					strings.Contains(expression, " .") && number.MatchString(theirs) && !strings.Contains(theirs, n)) {
					t.Errorf("%s with %s: Helm gives %q, and convoy the same", expression, n, theirs)
				}
				continue
			case ourErr == nil && theirErr == nil && (ours == digits(theirs) || long(n) && rounded(ours) == rounded(theirs)):
				continue
			case madeOfPrinted[expression] != nil:
				printed := n
				if !long(n) {
					printed, _ = byHelm(t, `.v`, helmValues(t, n))
				}
				theirs, theirErr = madeOfPrinted[expression](digits(printed)), nil
			case long(n) && slices.Contains(asInteger, expression):
				theirs, theirErr = byHelm(t, expression, convoyValues(t, n))
			}
			other[expression] = true
			if ours != theirs || (ourErr == nil) != (theirErr == nil) {
				t.Errorf("%s with %s: Helm gives %q %v, convoy %q %v", expression, n, theirs, theirErr, ours, ourErr)
			}
		}
	}
	for _, expression := range slices.Concat(asInteger, slices.Collect(maps.Keys(madeOfPrinted))) {
		if !other[expression] {
			t.Errorf("%s is what Helm gives, and on the list of differences", expression)
		}
	}
}

func helmValues(t *testing.T, n string) map[string]any {
	t.Helper()
	parsed, err := chartutil.ReadValues([]byte(valuesOf(n)))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return parsed
}

func convoyValues(t *testing.T, n string) map[string]any {
	t.Helper()
	parsed, err := values.ParseYAML([]byte(valuesOf(n)))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return parsed
}

func byHelm(t *testing.T, expression string, given map[string]any) (string, error) {
	t.Helper()
	c := chartFor(expression)
	top, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{}, nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	out, err := engine.Render(c, top)
	return out["web/templates/a.yaml"], err
}

func byConvoy(t *testing.T, expression string, given map[string]any) (string, error) {
	t.Helper()
	c := chartFor(expression)
	top, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{}, nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	out, err := execute.Run(t.Context(), c, top, execute.Options{Limits: small})
	if err != nil {
		return "", err
	}
	return out.Texts["web/templates/a.yaml"], nil
}

// TestSurplusValues prints values that a format has no verb for.
func TestSurplusValues(t *testing.T) {
	for expression, want := range map[string]string{
		`printf "a" .v`:                    "a%!(EXTRA float64=2.0161216e+07)",
		`printf "%T %v" .v .v .v`:          "float64 20161216%!(EXTRA float64=2.0161216e+07)",
		`printf "%%!(EXTRA %v" .v .v`:      "%!(EXTRA 20161216%!(EXTRA float64=2.0161216e+07)",
		`printf "%*d %v" 3 7 .v "x" .d`:    "  7 20161216%!(EXTRA string=x, map[string]interface {}=map[v:2.0161216e+07])",
		`printf "%[2]v %[1]v" .v "x" "no"`: "x 20161216",
	} {
		got, err := byConvoy(t, expression, convoyValues(t, "20161216"))
		if err != nil || got != want {
			t.Errorf("%s gives %q %v, not %q", expression, got, err, want)
		}
	}
}
