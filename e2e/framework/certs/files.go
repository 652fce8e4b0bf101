// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
)

// ServiceAccountKeys makes the key pair that signs and verifies service account
// tokens, writes <dir>/sa.key and <dir>/sa.pub and returns the two paths. It is
// an RSA key, because every API server accepts tokens signed with RS256.
func ServiceAccountKeys(dir string) (privateFile, publicFile string, err error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", "", fmt.Errorf("generate the service account key: %w", err)
	}
	private, err := encodeKey(key)
	if err != nil {
		return "", "", err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return "", "", fmt.Errorf("encode the service account public key: %w", err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	privateFile, publicFile = filepath.Join(dir, "sa.key"), filepath.Join(dir, "sa.pub")
	if err := writeFile(privateFile, private, 0o600); err != nil {
		return "", "", err
	}
	return privateFile, publicFile, writeFile(publicFile, public, 0o644)
}

func writePair(dir, name string, certDER []byte, key crypto.Signer) (Pair, error) {
	keyPEM, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	pair := Pair{
		CertFile: filepath.Join(dir, name+".crt"),
		KeyFile:  filepath.Join(dir, name+".key"),
		Cert:     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certDER}),
		Key:      keyPEM,
	}
	if err := writeFile(pair.CertFile, pair.Cert, 0o644); err != nil {
		return Pair{}, err
	}
	return pair, writeFile(pair.KeyFile, pair.Key, 0o600)
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func writeFile(path string, content []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("create the folder of %s: %w", filepath.Base(path), err)
	}
	if err := os.WriteFile(path, content, mode); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}
