// SPDX-License-Identifier: Apache-2.0

package execute_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"kumodo.io/convoy/render/internal/helm/execute"
)

// withPointers runs a template of a chart of which Go prints pointers.
func withPointers(t *testing.T, text string) (string, bool) {
	t.Helper()
	g := NewWithT(t)
	c := &chart.Chart{Metadata: &chart.Metadata{
		Name: "web", Version: "1.0.0", Maintainers: []*chart.Maintainer{{Name: "who", Email: "w@example.test"}},
		Dependencies: []*chart.Dependency{{Name: "db", Version: "1.x.x"}}, Annotations: map[string]string{"a": "b"},
	}}
	c.Files = []*chart.File{{Name: "f", Data: []byte("x")}}
	c.Templates = []*chart.File{{Name: "templates/a.yaml", Data: []byte(text)}}
	top, err := chartutil.ToRenderValues(c, map[string]any{"big": 2e7}, chartutil.ReleaseOptions{Name: "web"}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	output, err := execute.Run(t.Context(), c, top, execute.Options{Limits: small})
	g.Expect(err).NotTo(HaveOccurred())
	return output.Texts["web/templates/a.yaml"], output.Volatile
}

var address = regexp.MustCompile(`0x[0-9a-f]{5,}`)

func TestNoAddressIsPrinted(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{{ $ | toString }}`, "who w@example.test"},
		{`{{ printf "%v" $ }}`, "{db 1.x.x"},
		{`{{ printf "%+v" $ }}`, "{Name:who Email:w@example.test URL:}"},
		{`{{ printf "%#v" $ }}`, `chart.Maintainer{Name:"who", Email:"w@example.test", URL:""}`},
		{`{{ printf "%d %s %q" $ $ $ }}`, "who"},
		{`{{ print $ }}`, "who"}, {`{{ println $ | squote }}`, "who"}, {`{{ $ }}`, "who"}, {`{{ . }}`, "who"}, {`{{ cat $ }}`, "who"},
		{`{{ html $ }}{{ js $ }}{{ urlquery $ }}`, "who"}, {`{{ print .Chart }}`, "who"}, {`{{ .Chart }}`, "who"},
		{`{{ .Chart.Maintainers }}`, "[{who w@example.test }]"}, {`{{ quote .Chart.Maintainers }}`, `"[{who w@example.test }]"`},
		{`{{ join "," .Chart.Maintainers }}`, "{who w@example.test }"}, {`{{ index .Chart.Maintainers 0 }}`, "{who w@example.test }"},
		{`{{ range .Chart.Maintainers }}{{ . }}{{ end }}`, "{who w@example.test }"}, {`{{ toStrings .Chart.Dependencies }}`, "{db 1.x.x"},
		{`{{ with .Chart }}{{ .Dependencies }}{{ end }}`, "{db 1.x.x"}, {`{{ list .Chart.Dependencies | toString }}`, "[[{db 1.x.x"},
		{`{{ .Capabilities }}`, "v1."}, {`{{ print .Capabilities }}`, "&{{v1."}, {`{{ list .Capabilities }}`, "[{{v1."}, {`{{ .Capabilities.KubeVersion }}`, "v1."},
		{`{{ printf "%p" .Values }}`, "0xc000000000"}, {`{{ printf "%8p|%T|%v" "x" .Values.big .Values.big }}`, "%!p(string=       x)|float64|20000000"},
		{`{{ printf "%p %p" .Files $ }}`, "0xc000000000 0xc000000000"}, {`{{ print .Files }}`, "map[f:[120]]"}, {`{{ printf "%%p %*d" 3 7 }}`, "%p   7"},
		{`{{ semver "1.2.3" }}`, "1.2.3"}, {`{{ list (semver "1.2.3") }}`, "[1.2.3]"}, {`{{ printf "%d" (list (semver "1.2.3")) }}`, "[{1 2 3"},
		{`{{ printf "%v" (toDate "2006-01-02" "2024-07-01") }}`, "2024-07-01 00:00:00 +0000 UTC"}, {`{{ printf "%d" (list (toDate "2006" "2024")) }}`, "["},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			g := NewWithT(t)
			first, volatile := withPointers(t, test.text)
			second, _ := withPointers(t, test.text)
			g.Expect(first).To(Equal(second))
			g.Expect(first).To(ContainSubstring(test.want))
			g.Expect(address.FindString(strings.ReplaceAll(first, "0xc000000000", ""))).To(BeEmpty())
			g.Expect(volatile).To(BeFalse())
		})
	}
}

// Maps are read in the order of their keys.
func TestMapsAreReadInOrder(t *testing.T) {
	for range 20 {
		output, err := run(t.Context(), execute.Options{Limits: small}, map[string]string{
			"a.yaml": `{{ $d := dict "c" 1 "a" 2 "d" nil "b" 4 }}{{ keys $d (dict "y" 1 "x" 1) }}{{ values $d }}{{ keys (dict) }}{{ values (dict) | len }}{{ range $k, $v := $d }}{{ $k }}{{ end }}{{ $d }}`,
		})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(output.Texts["web/templates/a.yaml"]).To(Equal("[a b c d x y][2 4 1 <nil>][]0abcdmap[a:2 b:4 c:1 d:<nil>]"))
	}
}

// TestDatesAreInUTC runs templates on hosts in several time zones.
func TestDatesAreInUTC(t *testing.T) {
	host := time.Local
	t.Cleanup(func() { time.Local = host })
	tests := map[string]string{
		`{{ toDate "2006-01-02 15:04" "2024-07-01 00:00" | unixEpoch }}`:                   "1719792000",
		`{{ mustToDate "2006-01-02" "2024-07-01" }}`:                                       "2024-07-01 00:00:00 +0000 UTC",
		`{{ toDate "2006-01-02 15:04 MST" "2024-07-01 00:00 ABC" | date "15:04" }}`:        "00:00",
		`{{ date "2006-01-02 15:04 MST" 0 }}`:                                              "1970-01-01 00:00 UTC",
		`{{ htmlDate 0 }} {{ htmlDateInZone 0 "Local" }} {{ htmlDateInZone 0 "UTC" }}`:     "1970-01-01 1970-01-01 1970-01-01",
		`{{ dateInZone "15:04" 0 "Local" }} {{ date_in_zone "15:04 MST" 0 "Asia/Tokyo" }}`: "00:00 09:00 JST",
		`{{ now.Location }} {{ date "MST" now }}`:                                          "UTC UTC",
		`{{ toDate "2006-01-02" "2024-07-01" | dateModify "-1h" | date "15:04 MST" }}`:     "23:00 UTC",
	}
	for name, zone := range map[string]*time.Location{"west": time.FixedZone("ABC", -7*3600), "east": time.FixedZone("ABC", 9*3600)} {
		time.Local = zone
		for text, want := range tests {
			output, err := run(t.Context(), execute.Options{Limits: small}, map[string]string{"a.yaml": text})
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(output.Texts["web/templates/a.yaml"]).To(Equal(want), "%s in the %s", text, name)
		}
	}
}
