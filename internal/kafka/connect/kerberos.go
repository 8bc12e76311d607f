package connect

import (
	"context"

	"github.com/IBM/sarama"
	"github.com/jcmturner/gokrb5/v8/client"
	krbconfig "github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/kerberos"
)

func (k *Kerberos) passwordSource() secretSource {
	return secretSource{field: "sasl.gssapi.password", file: k.PasswordFile, env: k.PasswordEnv}
}

// login returns a Kerberos client with the credentials as they are now.
func (k *Kerberos) login() (*client.Client, error) {
	cfg, err := krbconfig.Load(k.Krb5ConfFile)
	if err != nil {
		return nil, &SecretError{Field: "sasl.gssapi.krb5_conf_file", Err: err}
	}
	options := client.DisablePAFXFAST(k.DisablePAFXFast)
	if k.KeytabFile != "" {
		keys, err := keytab.Load(k.KeytabFile)
		if err != nil {
			return nil, &SecretError{Field: "sasl.gssapi.keytab_file", Err: err}
		}
		return client.NewWithKeytab(k.Username, k.Realm, keys, cfg, options), nil
	}
	password, err := k.passwordSource().read()
	if err != nil {
		return nil, err
	}
	return client.NewWithPassword(k.Username, k.Realm, password, cfg, options), nil
}

// mechanism returns GSSAPI for franz-go, with a new login per authentication.
func (k *Kerberos) mechanism() sasl.Mechanism {
	return quietMechanism{kerberos.Kerberos(func(context.Context) (kerberos.Auth, error) {
		c, err := k.login()
		return kerberos.Auth{Client: c, Service: k.ServiceName}, err
	})}
}

// sarama returns GSSAPI for sarama. A keytab is read at each authentication; a
// password only now.
func (k *Kerberos) sarama() (sarama.GSSAPIConfig, error) {
	cfg := sarama.GSSAPIConfig{
		AuthType: sarama.KRB5_KEYTAB_AUTH, KeyTabPath: k.KeytabFile,
		KerberosConfigPath: k.Krb5ConfFile, ServiceName: k.ServiceName,
		Username: k.Username, Realm: k.Realm, DisablePAFXFAST: k.DisablePAFXFast,
	}
	if k.KeytabFile != "" {
		return cfg, nil
	}
	password, err := k.passwordSource().read()
	cfg.AuthType, cfg.Password = sarama.KRB5_USER_AUTH, password
	return cfg, err
}
