package server

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEncryptedKeys reads what OpenSSL writes.
func TestEncryptedKeys(t *testing.T) {
	openssl, err := osexec.LookPath("openssl")
	if err != nil {
		t.Skip("there is no openssl here to encrypt keys with")
	}
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := osexec.Command(openssl, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("openssl %q: %v\n%s", args, err, out)
		}
	}
	run("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "plain.pem")
	read := func(name, password string) ([]byte, error) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return plainKey(text, password)
	}
	der := func(text []byte) string {
		block, _ := pem.Decode(text)
		if block == nil {
			t.Fatalf("no PEM: %q", text)
		}
		if _, err := x509.ParsePKCS8PrivateKey(block.Bytes); err != nil {
			t.Error(err)
		}
		return string(block.Bytes)
	}
	plain, err := read("plain.pem", "whatever")
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range [][]string{
		{"-v2", "aes-256-cbc"}, {"-v2", "aes-192-cbc", "-v2prf", "hmacWithSHA512"}, {"-v2", "aes-128-cbc", "-v2prf", "hmacWithSHA1"},
		{"-v2", "aes256", "-v2prf", "hmacWithSHA384", "-iter", "10000"},
	} {
		run(append([]string{"pkcs8", "-topk8", "-in", "plain.pem", "-out", "encrypted.pem", "-passout", "pass:secret"}, scheme...)...)
		if got, err := read("encrypted.pem", "secret"); err != nil || der(got) != der(plain) {
			t.Errorf("%q: %v", scheme, err)
		}
		if _, err := read("encrypted.pem", "wrong"); err == nil || !strings.Contains(err.Error(), "password is wrong") {
			t.Errorf("%q with a wrong password: %v", scheme, err)
		}
	}
	run("pkcs8", "-topk8", "-in", "plain.pem", "-out", "other.pem", "-passout", "pass:secret", "-v2", "aria-128-cbc")
	if _, err := read("other.pem", "secret"); err == nil {
		t.Error("a cipher that is not known is taken")
	}
	run("ec", "-in", "plain.pem", "-out", "old.pem", "-aes256", "-passout", "pass:secret")
	if _, err := read("old.pem", "secret"); err == nil || !strings.Contains(err.Error(), "pkcs8 -topk8") {
		t.Errorf("the old format: %v", err)
	}
	whole, _ := pem.Decode(must(os.ReadFile(filepath.Join(dir, "encrypted.pem"))))
	for n := range whole.Bytes {
		if _, err := decryptKey(whole.Bytes[:n], "secret"); err == nil {
			t.Errorf("%d of %d bytes are taken for a key", n, len(whole.Bytes))
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
