// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const releasesPath = "/apis/core.convoy.kumodo.io/v1alpha1/namespaces/shop/releases"

// run executes a command line against a server that answers with the given objects by
// "METHOD path?query", and with a 404 Status otherwise.
func run(t *testing.T, answers map[string]runtime.Object, args ...string) (code int, out, errOut string) {
	t.Helper()
	return runAgainst(t, context.Background(), func(w http.ResponseWriter, req *http.Request) {
		answer, ok := answers[req.Method+" "+req.URL.RequestURI()]
		if !ok {
			refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, `releases.core.convoy.kumodo.io "web" not found`)
			return
		}
		send(w, answer)
	}, args...)
}

// runAgainst executes a command line against a server.
func runAgainst(t *testing.T, ctx context.Context, server http.HandlerFunc, args ...string) (code int, out, errOut string) {
	t.Helper()
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	streams, _, outBuffer, errBuffer := genericiooptions.NewTestIOStreams()
	code = Run(ctx, streams, append([]string{"--kubeconfig", emptyKubeconfig(t), "--server", listening.URL, "-n", "shop"}, args...))
	return code, outBuffer.String(), errBuffer.String()
}

func send(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(&metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Reason: reason, Code: int32(code), Message: message,
	})
}

func emptyKubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte("apiVersion: v1\nkind: Config\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: corev1alpha1.SchemeGroupVersion.String(), Kind: kind}
}

func diffOf(actions ...corev1alpha1.ObjectAction) *corev1alpha1.ReleaseDiff {
	diff := &corev1alpha1.ReleaseDiff{TypeMeta: typeMeta("ReleaseDiff"), From: "live", To: "desired", Objects: []corev1alpha1.ObjectDiff{}}
	for _, action := range actions {
		diff.Changed = true
		diff.Objects = append(diff.Objects, corev1alpha1.ObjectDiff{
			ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "cm"},
			Action:    action,
			Changes:   []corev1alpha1.FieldChange{{Path: "/data/a", From: `"1"`, To: `"2"`}},
		})
	}
	return diff
}

func TestDiffExitStatus(t *testing.T) {
	cases := []struct {
		name string
		diff *corev1alpha1.ReleaseDiff
		args []string
		want int
	}{
		{"no difference", diffOf(), []string{"diff", "web"}, 0},
		{"a difference", diffOf(corev1alpha1.ActionUpdate), []string{"diff", "web"}, 1},
		{"a difference that is not asked for", diffOf(corev1alpha1.ActionUpdate), []string{"diff", "web", "--only", "delete"}, 0},
		{"an object that could not be compared", diffOf(corev1alpha1.ActionError, corev1alpha1.ActionUpdate), []string{"diff", "web"}, 2},
		{"one that could not be compared, and is not asked for", diffOf(corev1alpha1.ActionError), []string{"diff", "web", "--only", "delete"}, 2},
		{"unknown release", nil, []string{"diff", "web"}, 2},
		{"no name", diffOf(), []string{"diff"}, 2},
		{"unknown flag", diffOf(), []string{"diff", "web", "--nonsense"}, 2},
		{"unknown format", diffOf(), []string{"diff", "web", "-o", "xml"}, 2},
		{"unknown action", diffOf(), []string{"diff", "web", "--only", "explode"}, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			answers := map[string]runtime.Object{}
			if c.diff != nil {
				answers["GET "+releasesPath+"/web/diff"] = c.diff
			}
			code, _, _ := run(t, answers, c.args...)
			g.Expect(code).To(Equal(c.want))
		})
	}
}

func TestDiffUnreachableIsNoDifference(t *testing.T) {
	g := NewWithT(t)
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	code := Run(context.Background(), streams, []string{"--kubeconfig", emptyKubeconfig(t), "--server", "http://127.0.0.1:1", "diff", "web"})
	g.Expect(code).To(Equal(2))
	g.Expect(out.String()).To(BeEmpty())
	g.Expect(errOut.String()).To(ContainSubstring("connection refused"))
}

// everyCommand gives commands, and those below them.
func everyCommand(commands []*cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, cmd := range commands {
		all = append(append(all, cmd), everyCommand(cmd.Commands())...)
	}
	return all
}

func TestHelpOfEveryCommand(t *testing.T) {
	for _, cmd := range everyCommand(newRoot(genericiooptions.NewTestIOStreamsDiscard()).Commands()) {
		t.Run(cmd.Name(), func(t *testing.T) {
			g := NewWithT(t)
			var out bytes.Buffer
			cmd.SetOut(&out)
			g.Expect(cmd.Help()).To(Succeed())
			g.Expect(out.String()).To(ContainSubstring(cmd.CommandPath()))
		})
	}
}
