// SPDX-License-Identifier: Apache-2.0

package controlplane

import "kumodo.io/convoy/e2e/framework/certs"

// frontProxyUser is the common name by which aggregated API servers know that a
// request comes from kube-apiserver.
const frontProxyUser = "front-proxy-client"

// pki is what a control plane proves its identities with. The front proxy has an
// authority of its own: whoever holds one of its certificates may speak for
// every user.
type pki struct {
	ca, frontProxyCA                     *certs.CA
	serving, frontProxy, admin           certs.Pair
	serviceAccountKey, serviceAccountPub string
}

func newPKI(dir string) (pki, error) {
	var p pki
	var err error
	if p.ca, err = certs.NewCA(dir, "ca", "cluster-ca"); err != nil {
		return pki{}, err
	}
	if p.frontProxyCA, err = certs.NewCA(dir, "front-proxy-ca", "front-proxy-ca"); err != nil {
		return pki{}, err
	}
	if p.serving, err = p.ca.Server("kube-apiserver", "127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.0.0.1"); err != nil {
		return pki{}, err
	}
	if p.frontProxy, err = p.frontProxyCA.Client("front-proxy-client", frontProxyUser); err != nil {
		return pki{}, err
	}
	if p.admin, err = p.ca.Client("admin", "admin", "system:masters"); err != nil {
		return pki{}, err
	}
	p.serviceAccountKey, p.serviceAccountPub, err = certs.ServiceAccountKeys(dir)
	return p, err
}
