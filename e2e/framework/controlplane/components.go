// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"kumodo.io/convoy/e2e/framework/process"
)

// serviceRange holds the first address that the serving certificate names.
const serviceRange = "10.0.0.0/16"

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// Clients of the API server get more requests than they have by default: the
// tests wait for them.
var generousLimits = []string{"--kube-api-qps=200", "--kube-api-burst=400"}

func (c *ControlPlane) command(name string, grace time.Duration, args ...string) process.Command {
	return process.Command{
		Name:     name,
		Path:     filepath.Join(c.options.Assets, name),
		Args:     args,
		Dir:      c.options.Dir,
		Grace:    grace,
		Detached: c.options.Detached,
	}
}

func (c *ControlPlane) etcd() process.Command {
	command := c.command(Etcd, 5*time.Second,
		"--name=default",
		"--data-dir="+c.path("etcd-data"),
		"--listen-client-urls="+c.EtcdURL(),
		"--advertise-client-urls="+c.EtcdURL(),
		fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", c.ports.etcdPeer),
		"--unsafe-no-fsync", // the data need not survive the machine
		"--log-level=warn",
	)
	command.Ready = process.HTTPReady(nil, c.EtcdURL()+"/readyz")
	return command
}

// apiServer closes open watches when told to stop; by itself it would hold on to
// them for a minute.
func (c *ControlPlane) apiServer(ready func(context.Context) error) process.Command {
	args := []string{
		"--etcd-servers=" + c.EtcdURL(),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.ports.apiServer),
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + c.pki.serving.CertFile,
		"--tls-private-key-file=" + c.pki.serving.KeyFile,
		"--client-ca-file=" + c.pki.ca.CertFile(),
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		"--profiling=false",
		"--shutdown-watch-termination-grace-period=1s",
		"--service-cluster-ip-range=" + serviceRange,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.pki.serviceAccountPub,
		"--service-account-signing-key-file=" + c.pki.serviceAccountKey,
		"--requestheader-client-ca-file=" + c.pki.frontProxyCA.CertFile(),
		"--requestheader-allowed-names=" + frontProxyUser,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-uid-headers=X-Remote-Uid",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + c.pki.frontProxy.CertFile,
		"--proxy-client-key-file=" + c.pki.frontProxy.KeyFile,
	}
	if c.options.AuditLog {
		args = append(args, "--audit-policy-file="+c.path("audit-policy.yaml"), "--audit-log-path="+c.path("audit.log"))
	}
	command := c.command(APIServer, 5*time.Second, append(args, c.options.APIServerArgs...)...)
	command.Ready = ready
	return command
}

// apiServerReady asks as the administrator, so that it also waits for RBAC.
func (c *ControlPlane) apiServerReady() (func(context.Context) error, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("build the administrator's transport: %w", err)
	}
	return process.HTTPReady(&http.Client{Transport: transport}, c.URL()+"/readyz"), nil
}

// controllerManager runs the given controllers, by the names of its flag --controllers.
func (c *ControlPlane) controllerManager(controllers ...string) process.Command {
	return c.command(ControllerManager, 2*time.Second, append([]string{
		"--kubeconfig=" + c.kubeconfig(ControllerManager),
		"--leader-elect=false",
		"--secure-port=0",
		"--controllers=" + strings.Join(controllers, ","),
		"--use-service-account-credentials=true", // RBAC knows each controller by its account
		"--service-account-private-key-file=" + c.pki.serviceAccountKey,
		"--root-ca-file=" + c.pki.ca.CertFile(),
		"--profiling=false",
	}, generousLimits...)...)
}

func (c *ControlPlane) scheduler() process.Command {
	return c.command(Scheduler, 2*time.Second, append([]string{
		"--kubeconfig=" + c.kubeconfig(Scheduler),
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
	}, generousLimits...)...)
}

func (c *ControlPlane) kwok() process.Command {
	address := fmt.Sprintf("127.0.0.1:%d", c.ports.kwok)
	command := c.command(Kwok, 2*time.Second,
		"--kubeconfig="+c.AdminKubeconfig(),
		"--config="+c.path("stages.yaml"),
		"--manage-all-nodes=true",
		"--node-lease-duration-seconds=40",
		"--node-ip=127.0.0.1",
		"--server-address="+address,
	)
	command.Env = []string{"KWOK_WORKDIR=" + c.path("kwok")} // not the user's configuration
	command.Ready = process.HTTPReady(nil, "http://"+address+"/healthz")
	return command
}
