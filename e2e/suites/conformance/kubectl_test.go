// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// kubectl runs kubectl in the probe's namespace; a body is its standard input.
func (p *probe) kubectl(ctx context.Context, body any, args ...string) (out, errOut string, code int) {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, suite.kubectl, append([]string{"-n", p.namespace}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+suite.host.AdminKubeconfig(), "HOME="+suite.dir, "KUBECTL_EXTERNAL_DIFF=diff -u", "KUBE_EDITOR="+filepath.Join(suite.dir, "editor"))
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(encode(body)), &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		Expect(err).NotTo(HaveOccurred())
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// sawKubectl runs kubectl and notes all that it says.
func (p *probe) sawKubectl(ctx context.Context, body any, args ...string) {
	GinkgoHelper()
	out, errOut, code := p.kubectl(ctx, body, args...)
	p.note(p.command(args), object{"code": code, "out": columnsPattern.ReplaceAllString(p.text(out), " "), "err": p.text(errOut)})
}

// sawKubectlCode runs kubectl and notes how it ended, and what it says of errors.
func (p *probe) sawKubectlCode(ctx context.Context, body any, args ...string) {
	GinkgoHelper()
	out, errOut, code := p.kubectl(ctx, body, args...)
	p.note(p.command(args), object{"code": code, "says something": out != "", "err": p.text(errOut)})
}

// columnsPattern is what kubectl fills columns with, as wide as the names of the kind.
var columnsPattern = regexp.MustCompile(` {2,}`)

// command is what was called, in words that are the same for every kind.
func (p *probe) command(args []string) string {
	said := make([]string, len(args))
	for i, arg := range args {
		switch name, rest, _ := strings.Cut(arg, "."); {
		case name == p.singular || name == p.shortName || name == p.plural:
			said[i] = strings.TrimSuffix("RESOURCE."+p.text(rest), ".")
		case i > 0 && args[i-1] == "-p":
			said[i] = "PATCH"
		default:
			said[i] = p.text(arg)
		}
	}
	return strings.Join(said, " ")
}

var _ = Describe("kubectl", func() {
	table(
		behaviour{name: "create, get, delete", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			p.sawKubectl(ctx, p.object("a"), "create", "-f", "-")
			p.sawKubectl(ctx, p.object("a"), "create", "-f", "-")
			p.sawKubectl(ctx, p.object("b"), "create", "-f", "-", "--dry-run=server")
			p.sawKubectl(ctx, set(p.object("b"), at("spec.nonsense"), 1), "create", "-f", "-", "--validate=warn")
			p.sawKubectl(ctx, nil, "get", p.singular, "-o", "name")
			p.sawKubectl(ctx, nil, "get", p.shortName, "-o", "jsonpath={.items[*].metadata.name}")
			p.sawKubectl(ctx, nil, "get", p.resource(), "-o", "custom-columns=NAME:.metadata.name,KIND:.kind,GENERATION:.metadata.generation", "--sort-by=.metadata.name", "--chunk-size=1")
			p.sawKubectl(ctx, nil, "get", p.plural, "nobody")
			p.sawKubectl(ctx, nil, "get", p.plural, "-l", "no=body")
			p.sawKubectlCode(ctx, nil, "get", p.plural, "-A", "--field-selector=metadata.namespace="+p.namespace, "-o", "wide")
			p.sawKubectlCode(ctx, nil, "get", p.plural, "a", "--subresource=status")
			p.sawKubectlCode(ctx, nil, "describe", p.plural, "a")
			p.sawKubectl(ctx, nil, "delete", p.plural, "a", "--dry-run=server")
			p.sawKubectl(ctx, nil, "delete", p.plural, "a", "--cascade=foreground")
			p.sawKubectl(ctx, nil, "delete", p.plural, "-l", probeLabel+"="+p.namespace, "--cascade=orphan")
			p.sawKubectl(ctx, nil, "delete", p.plural, "a", "--ignore-not-found")
			p.sawKubectl(ctx, nil, "delete", p.plural, "a")
		}},
		behaviour{name: "apply", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			labelled := func() object { return set(p.object("a"), at("metadata.labels.x"), "y") }
			p.sawKubectl(ctx, labelled(), "apply", "-f", "-")
			p.sawKubectl(ctx, labelled(), "apply", "-f", "-")
			p.sawKubectlCode(ctx, labelled(), "diff", "-f", "-")
			p.sawKubectlCode(ctx, set(labelled(), p.field, p.values[1]), "diff", "-f", "-")
			p.sawKubectl(ctx, set(labelled(), p.field, p.values[1]), "apply", "-f", "-", "--dry-run=server")
			p.sawKubectl(ctx, set(p.object("a"), p.field, p.values[1]), "apply", "-f", "-")
			p.note("a label that is not applied any more", p.get(ctx, p.item("a")).string(at("metadata.labels.x")))
			p.sawKubectl(ctx, set(p.object("a"), at("spec.nonsense"), 1), "apply", "-f", "-", "--validate=warn")
			p.sawManagers("managers", p.get(ctx, p.item("a")))
		}},
		behaviour{name: "apply on the server's side", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			p.sawKubectl(ctx, p.object("a"), "apply", "--server-side", "-f", "-")
			p.sawKubectl(ctx, p.object("a"), "apply", "--server-side", "-f", "-")
			p.sawKubectlCode(ctx, p.object("a"), "diff", "--server-side", "-f", "-")
			p.sawKubectlCode(ctx, set(p.object("a"), p.field, p.values[1]), "diff", "--server-side", "-f", "-")
			p.patch(ctx, p.item("a"), mergePatch, p.change(3), "fieldManager=other")
			p.sawKubectl(ctx, p.object("a"), "apply", "--server-side", "-f", "-")
			p.sawKubectl(ctx, p.object("a"), "apply", "--server-side", "-f", "-", "--force-conflicts")
			p.sawManagers("managers", p.get(ctx, p.item("a")))
		}},
		behaviour{name: "from apply to apply on the server's side", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			p.sawKubectl(ctx, p.object("a"), "apply", "-f", "-")
			p.sawKubectl(ctx, set(p.object("a"), p.field, p.values[1]), "apply", "--server-side", "-f", "-")
			p.sawManagers("managers", p.get(ctx, p.item("a")))
		}},
		behaviour{name: "label, annotate, patch, edit, replace", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.sawKubectl(ctx, nil, "label", p.plural, "a", "x=y")
			p.sawKubectl(ctx, nil, "label", p.plural, "a", "x=z")
			p.sawKubectl(ctx, nil, "label", p.plural, "a", "x-")
			p.sawKubectl(ctx, nil, "annotate", p.plural, "a", "x=y", "--overwrite")
			p.sawKubectl(ctx, nil, "patch", p.plural, "a", "--type=merge", "-p", encoded(p.change(2)))
			p.sawKubectl(ctx, nil, "patch", p.plural, "a", "--type=merge", "-p", encoded(p.change(2)))
			p.sawKubectl(ctx, nil, "patch", p.plural, "a", "--type=json", "-p", `[{"op":"remove","path":"/metadata/annotations/x"}]`)
			p.sawKubectl(ctx, nil, "patch", p.plural, "a", "--subresource=status", "--type=merge", "-p", `{"status":{"observedGeneration":1}}`)
			p.sawKubectl(ctx, nil, "edit", p.plural, "a")
			p.note("edited", p.get(ctx, p.item("a")).string(at("metadata.labels.edited")))
			stored := p.get(ctx, p.item("a"))
			p.sawKubectl(ctx, edited(stored, p.withField(3)), "replace", "-f", "-")
			p.sawKubectl(ctx, edited(stored, p.withField(1)), "replace", "-f", "-")
			p.sawKubectl(ctx, p.object("a"), "replace", "--force", "-f", "-")
			p.sawKubectl(ctx, p.object("b"), "replace", "-f", "-")
		}},
		behaviour{name: "patch by strategic merge", of: onlyPrincipals, like: builtin, why: strategicOffered, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.sawKubectl(ctx, nil, "patch", p.plural, "a", "--type=strategic", "-p", encoded(p.change(2)))
		}},
		behaviour{name: "wait", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.sawKubectl(ctx, nil, "wait", p.plural+"/a", "--for=condition=Ready", "--timeout=1s")
			p.patch(ctx, p.item("a", "status"), mergePatch, containing(conditions, []any{condition("Ready", "True")}))
			p.sawKubectl(ctx, nil, "wait", p.plural+"/a", "--for=condition=Ready", "--timeout=20s")
			p.sawKubectl(ctx, nil, "wait", p.plural+"/a", "--for=jsonpath={.metadata.generation}=1", "--timeout=20s")
			p.sawKubectl(ctx, nil, "wait", p.plural+"/a", "--for=create", "--timeout=20s")
			p.remove(ctx, p.item("a"), nil)
			p.sawKubectl(ctx, nil, "wait", p.plural+"/a", "--for=delete", "--timeout=20s")
			p.sawKubectl(ctx, nil, "wait", p.plural+"/a", "--for=condition=Ready", "--timeout=1s")
		}},
		behaviour{name: "wait for what comes while it waits", of: onlyPrincipals, does: waitMeanwhile},
		behaviour{name: "explain, auth can-i", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			for _, what := range []string{p.plural, p.singular, p.plural + ".metadata", p.plural + ".spec", p.plural + ".status.conditions"} {
				p.sawKubectlCode(ctx, nil, "explain", what)
			}
			p.sawKubectlCode(ctx, nil, "explain", p.plural, "--recursive")
			_, errOut, code := p.kubectl(ctx, nil, "explain", p.plural+".spec.nonsense")
			p.note("explain nonsense", []any{code, errOut})
			p.sawKubectl(ctx, nil, "auth", "can-i", "delete", p.plural)
			p.sawKubectl(ctx, nil, "auth", "can-i", "update", p.plural, "--subresource=status", "--as=nobody")
		}},
	)
})

// waitMeanwhile starts to wait, and then does what is waited for.
func waitMeanwhile(ctx context.Context, p *probe) {
	for _, step := range []struct {
		until string
		do    func()
	}{
		{"create", func() { p.create(ctx, "a") }},
		{"jsonpath={.metadata.generation}=2", func() { p.patch(ctx, p.item("a"), mergePatch, p.change(2)) }},
		{"condition=Ready", func() {
			p.patch(ctx, p.item("a", "status"), mergePatch, containing(conditions, []any{condition("Ready", "True")}))
		}},
		{"delete", func() { p.remove(ctx, p.item("a"), nil) }},
	} {
		done := make(chan struct{})
		go func() {
			defer GinkgoRecover()
			defer close(done)
			p.sawKubectl(ctx, nil, "wait", p.plural+"/a", "--for="+step.until, "--timeout=30s")
		}()
		step.do()
		<-done
	}
}
