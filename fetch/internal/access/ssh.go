// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/fault"
)

// SSHLogin is one attempt to log in to a server.
type SSHLogin struct {
	// Config is what the connection is made with.
	Config *ssh.ClientConfig

	access *Access
	// offered is set once the server has proven its key and been offered ours.
	offered bool
}

// NewSSHLogin returns how to log in to address (host:port) as user. The server has to
// prove one of the keys that the Secret knows for it: an unknown host is refused, and
// nothing is trusted on first sight. The error is fault.ErrSecret.
func (a *Access) NewSSHLogin(user, address string) (*SSHLogin, error) {
	const identity, knownHosts = sourcev1alpha1.SecretKeyIdentity, sourcev1alpha1.SecretKeyKnownHosts
	switch {
	case a.name == "":
		return nil, fault.New(fault.ErrSecret, "an ssh address needs a secretRef to a Secret with the keys %s and %s", identity, knownHosts)
	case len(a.Identity) == 0:
		return nil, fault.New(fault.ErrSecret, "the Secret %s has no key %s, which an ssh address needs", a.name, identity)
	case len(a.KnownHosts) == 0:
		return nil, fault.New(fault.ErrSecret, "the Secret %s has no key %s, which an ssh address needs", a.name, knownHosts)
	}
	signer, err := a.signer()
	if err != nil {
		return nil, err
	}
	known := parseKnownHosts(a.KnownHosts).forHost(address)
	known.secret = a.name
	if len(known.keys) == 0 {
		return nil, fault.New(fault.ErrSecret, "the key %s of the Secret %s holds no key of %s%s", knownHosts, a.name, displayAddress(address), known.complaint())
	}
	login := &SSHLogin{access: a}
	login.Config = &ssh.ClientConfig{
		User: user,
		Auth: []ssh.AuthMethod{ssh.PublicKeysCallback(func() ([]ssh.Signer, error) {
			login.offered = true
			return []ssh.Signer{signer}, nil
		})},
		HostKeyCallback: known.check,
		// Asked for its own favourite, a server may prove a key that is not known
		// although it also has one that is.
		HostKeyAlgorithms: known.algorithms(),
		ClientVersion:     "SSH-2.0-convoy",
	}
	return login, nil
}

// Failed gives the error of a handshake a kind.
func (l *SSHLogin) Failed(ctx context.Context, err error) error {
	var own *fault.Error
	var negotiation *ssh.AlgorithmNegotiationError
	switch {
	case ctx.Err() != nil:
		return fault.FromRequest(ctx.Err(), nil)
	case errors.As(err, &own):
		return own
	case errors.As(err, &negotiation):
		return fault.New(fault.ErrUnauthorized, "the server offers none of what is asked of it (%s); of its host keys, the Secret %s knows the kinds %s",
			l.access.Scrubber().Clean(err.Error()), l.access.name, strings.Join(l.Config.HostKeyAlgorithms, ", "))
	case l.offered:
		return fault.New(fault.ErrUnauthorized, "the server does not accept the key %s of the Secret %s for the user %s", sourcev1alpha1.SecretKeyIdentity, l.access.name, l.Config.User)
	}
	return fault.FromRequest(err, l.access.Scrubber())
}

func (a *Access) signer() (ssh.Signer, error) {
	signer, err := ssh.ParsePrivateKey(a.Identity)
	var encrypted *ssh.PassphraseMissingError
	if errors.As(err, &encrypted) {
		if a.Password == "" {
			return nil, fault.New(fault.ErrSecret, "the key %s of the Secret %s is encrypted; its passphrase is missing in the key %s", sourcev1alpha1.SecretKeyIdentity, a.name, sourcev1alpha1.SecretKeyPassword)
		}
		signer, err = ssh.ParsePrivateKeyWithPassphrase(a.Identity, []byte(a.Password))
	}
	if err != nil {
		return nil, fault.New(fault.ErrSecret, "the key %s of the Secret %s is no usable private key: %s", sourcev1alpha1.SecretKeyIdentity, a.name, a.Scrubber().Clean(err.Error()))
	}
	return signer, nil
}

func displayAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "22" {
		return strings.Trim(host, "[]")
	}
	return "[" + host + "]:" + port
}
