// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// offline executes a command line without any server, with a standard input.
func offline(stdin string, args ...string) (code int, out, errOut string) {
	streams, in, outBuffer, errBuffer := genericiooptions.NewTestIOStreams()
	in.WriteString(stdin)
	code = Run(context.Background(), streams, append([]string{"--server", "http://127.0.0.1:1"}, args...))
	return code, outBuffer.String(), errBuffer.String()
}

func TestExports(t *testing.T) {
	values := filepath.Join(t.TempDir(), "values.yaml")
	NewWithT(t).Expect(os.WriteFile(values, []byte("replicas: 3\nbig: 9007199254740993\n"), 0o600)).To(Succeed())
	source := func(kind, name, spec string) string {
		return "apiVersion: source.convoy.kumodo.io/v1alpha1\nkind: " + kind + "\nmetadata:\n  name: " + name + "\nspec:\n" + spec
	}
	release := func(spec string) string {
		return "apiVersion: core.convoy.kumodo.io/v1alpha1\nkind: Release\nmetadata:\n  name: web\nspec:\n  clusterRef:\n    name: edge\n" + spec
	}
	for _, test := range []struct {
		name  string
		args  string
		stdin string
		want  string
	}{
		{"a Git repository", "source git apps --url https://h/a.git --secret-ref key --interval 1m --recurse-submodules", "", source("GitRepository", "apps",
			"  interval: 1m0s\n  recurseSubmodules: true\n  secretRef:\n    name: key\n  url: https://h/a.git\n")},
		{"a Helm registry", "source helm charts --url https://h/c --ca-secret-ref ca --insecure", "", source("HelmRegistry", "charts",
			"  caSecretRef:\n    name: ca\n  insecure: true\n  url: https://h/c\n")},
		{"an OCI registry", "source oci images --url oci://h --provider aws --timeout 5s", "", source("OCIRegistry", "images",
			"  provider: aws\n  timeout: 5s\n  url: oci://h\n")},
		{"a Release of Git", "release web --to-cluster edge --source gitrepository/apps --tag v1 --path web --manual --wave 2 --depends-on db,cache", "", release(
			"  dependsOn:\n  - name: db\n  - name: cache\n  source:\n    git:\n      path: web\n      ref:\n        tag: v1\n      repositoryRef:\n        name: apps\n  sync:\n    mode: manual\n  wave: 2\n")},
		{"a Release of a chart", "release web --to-cluster edge --source chelm/charts --chart web --version 1.x --values " + values +
			" --values-file prod.yaml --values-from secret/s:k,configmap/c --target-namespace w --create-namespace --service-account sa", "", release(
			"  createNamespace: true\n  render:\n    helm:\n      values:\n        big: 9007199254740993\n        replicas: 3\n      valuesFiles:\n      - prod.yaml\n" +
				"      valuesFrom:\n      - key: k\n        kind: Secret\n        name: s\n      - kind: ConfigMap\n        name: c\n    type: helm\n" +
				"  serviceAccountName: sa\n  source:\n    helm:\n      chart: web\n      registryRef:\n        name: charts\n      version: 1.x\n  targetNamespace: w\n")},
		{"a Release whose values take a default away", "release web --to-cluster edge --source ociregistry/r --repository a --values -", "a: null\nb: {}\n", release(
			"  render:\n    helm:\n      values:\n        a: null\n        b: {}\n    type: helm\n  source:\n    oci:\n      registryRef:\n        name: r\n      repository: a\n")},
		{"a Release of OCI, with values from the standard input", "release web --to-cluster edge --source ociregistry/r --repository a/b --digest sha256:1 --values -", "a: b\n", release(
			"  render:\n    helm:\n      values:\n        a: b\n    type: helm\n  source:\n    oci:\n      ref:\n        digest: sha256:1\n      registryRef:\n        name: r\n      repository: a/b\n")},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			code, out, errOut := offline(test.stdin, append(append([]string{"create"}, strings.Fields(test.args)...), "--export")...)
			g.Expect(errOut).To(BeEmpty())
			g.Expect(code).To(Equal(0))
			g.Expect(out).To(Equal(test.want))
		})
	}
}

func TestExportKeepsANamespaceThatIsGiven(t *testing.T) {
	_, out, _ := offline("", "-n", "shop", "create", "source", "git", "apps", "--url", "https://h/a", "--labels", "a=b", "--export", "-o", "json")
	NewWithT(t).Expect(out).To(MatchJSON(`{"apiVersion": "source.convoy.kumodo.io/v1alpha1", "kind": "GitRepository",
		"metadata": {"name": "apps", "namespace": "shop", "labels": {"a": "b"}}, "spec": {"url": "https://h/a"}}`))
}

func TestCreateIsRefused(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"source git", "git takes one name, got 0 arguments"},
		{"source git apps", `required flag(s) "url" not set`},
		{"source svn", `unknown command "svn" for "kubectl convoy create source"`},
		{"cluster", `unknown command "cluster" for "kubectl convoy create"`},
		{"release web --to-cluster edge --source apps", `--source: "apps" does not say of what kind it is; it is gitrepository/NAME`},
		{"release web --to-cluster edge --source pod/apps", `--source: unknown kind "pod"`},
		{"release web --to-cluster edge --source gitrepository/apps --chart x", "--chart does not fit a GitRepository, which takes --branch, --tag, --semver, --commit, --path"},
		{"release web --to-cluster edge --source helmregistry/charts", "with a HelmRegistry, --chart has to be given"},
		{"release web --to-cluster edge --source ociregistry/r", "with a OCIRegistry, --repository has to be given"},
		{"release web --to-cluster edge --source gitrepository/apps --values /nowhere/values.yaml", "--values: open /nowhere/values.yaml"},
		{"release web --to-cluster edge --source gitrepository/apps --values -", "--values: - has no map of values"},
		{"release web --to-cluster edge --source gitrepository/apps --values-from x", `--values-from: "x" is neither configmap/NAME nor secret/NAME`},
		{"release web --to-cluster edge --source gitrepository/apps --values-from secret/:k", "a name is missing behind secret/"},
	} {
		t.Run(test.args, func(t *testing.T) {
			g := NewWithT(t)
			code, out, errOut := offline("- a list\n", append([]string{"create"}, strings.Fields(test.args)...)...)
			g.Expect(code).To(Equal(1))
			g.Expect(out).To(BeEmpty())
			g.Expect(errOut).To(ContainSubstring(test.want))
		})
	}
}

func TestCreates(t *testing.T) {
	g := NewWithT(t)
	server := &recorder{answers: map[string]runtime.Object{
		"POST " + releasesPath + "?fieldManager=kubectl-convoy":            newRelease(),
		"POST " + releasesPath + "?dryRun=All&fieldManager=kubectl-convoy": newRelease(),
	}}
	args := strings.Fields("create release web --to-cluster edge --source gitrepository/apps")
	_, out, _ := server.change(t, args...)
	g.Expect(out).To(Equal("release.core.convoy.kumodo.io/web created\n"))
	g.Expect(server.sent).To(HaveLen(1))
	g.Expect(server.sent[0].body).To(MatchJSON(`{"apiVersion": "core.convoy.kumodo.io/v1alpha1", "kind": "Release", "metadata": {"name": "web", "namespace": "shop"},
		"spec": {"clusterRef": {"name": "edge"}, "source": {"git": {"repositoryRef": {"name": "apps"}}}}}`))
	_, out, _ = server.change(t, append(args, "--dry-run=server")...)
	g.Expect(out).To(Equal("release.core.convoy.kumodo.io/web created (server dry run)\n"))
	_, out, _ = server.change(t, append(args, "--dry-run=client")...)
	g.Expect(out).To(Equal("release.core.convoy.kumodo.io/web created (dry run)\n"))
	g.Expect(server.sent).To(BeEmpty())
}

// TestHelpHasExamples holds every command to what its examples say: commands that exist, with
// flags that they have.
func TestHelpHasExamples(t *testing.T) {
	examined := 0
	for _, cmd := range everyCommand(newRoot(genericiooptions.NewTestIOStreamsDiscard()).Commands()) {
		if cmd.Name() == "completion" || cmd.HasParent() && cmd.Parent().Name() == "completion" || cmd.Name() == "help" {
			continue
		}
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(cmd.Example).NotTo(BeEmpty())
			g.Expect(cmd.Long).NotTo(BeEmpty())
			for line := range strings.Lines(strings.ReplaceAll(cmd.Example, "\\\n", " ")) {
				line = strings.TrimSpace(line)
				if _, piped, ok := strings.Cut(line, "| "); ok {
					line = piped
				}
				line, _, _ = strings.Cut(line, "   #")
				rest, ok := strings.CutPrefix(line, "kubectl convoy ")
				g.Expect(ok).To(BeTrue(), line)
				found, flags, err := newRoot(genericiooptions.NewTestIOStreamsDiscard()).Find(shellWords(rest))
				g.Expect(err).NotTo(HaveOccurred(), line)
				g.Expect(found.ParseFlags(flags)).To(Succeed(), line)
				g.Expect(found.ValidateArgs(found.Flags().Args())).To(Succeed(), line)
				g.Expect(found.ValidateRequiredFlags()).To(Succeed(), line)
				examined++
			}
		})
	}
	NewWithT(t).Expect(examined).To(BeNumerically(">", 60))
}

// shellWords takes a line apart as a shell does whose only quotes are single ones.
func shellWords(line string) []string {
	var all []string
	var word bytes.Buffer
	quoted, begun := false, false
	for _, c := range line {
		switch {
		case c == '\'':
			quoted, begun = !quoted, true
		case c == ' ' && !quoted:
			if begun {
				all = append(all, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if begun {
		all = append(all, word.String())
	}
	return all
}
