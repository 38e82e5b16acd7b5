//! Seals and opens the texts of a Bridge.

use crate::unreadable;
use aws::SubjectSeal;
use base64::{Engine, engine::general_purpose::STANDARD};
use domain::{
    ErrorCode, StepError, Timestamp,
    chat::{Author, Bridge, ExchangeId, Message, Post},
    ports::{Seal, SubjectKey, SubjectKeys, Versioned},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The person who accepted the agreement.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The name, as the customer wrote it.
    pub name: String,
    /// The address, which belongs to the signed-in subscriber.
    pub address: String,
}

/// The content of a message before it is sealed.
#[derive(Serialize, Deserialize)]
struct Plain {
    text: String,
    /// The message that a reply answers, so that equal replies to two messages have different bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answers: Option<ExchangeId>,
}

/// A message as its readers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadMessage {
    /// Its id.
    pub id: ExchangeId,
    /// Its author.
    pub author: Author,
    /// When it was posted.
    pub at: Timestamp,
    /// The text.
    pub text: String,
    /// Whether its mail still has to be sent.
    pub is_unsent: bool,
    /// For an operator's: the customer's message that it answers, if it names one.
    pub answers: Option<ExchangeId>,
}

/// The reply that a command with this text continues, whatever the customer has written since: the first one of the
/// messages whose mail is not sent.
#[must_use]
pub fn unsent_reply<'m>(messages: &'m [ThreadMessage], text: &Message) -> Option<&'m ThreadMessage> {
    messages.iter().find(|it| it.is_unsent && it.text == text.as_str())
}

/// A Bridge and the memory under whose key its texts are sealed.
pub struct Held {
    /// The Bridge.
    pub bridge: Versioned<Bridge>,
    memory: String,
}

/// The key of a memory, for the Bridge's texts.
pub(crate) struct Sealer {
    key: SubjectKey,
    memory: String,
}

impl Sealer {
    /// Loads the memory's key, or makes one if the memory has none.
    pub(crate) async fn make(keys: &dyn SubjectKeys, memory: &str) -> Result<Self, StepError> {
        Ok(Self { key: keys.find_or_create(memory).await?, memory: memory.to_owned() })
    }

    fn seal_at(&self, place: &str) -> Result<SubjectSeal, StepError> {
        let seal = SubjectSeal::new(&self.key, &format!("{}/bridge/{place}", self.memory));
        seal.ok_or_else(|| unreadable("key"))
    }

    fn seal(&self, place: &str, plain: &(impl Serialize + Sync)) -> Result<String, StepError> {
        let plain = serde_json::to_vec(plain).map_err(|_| unreadable("text"))?;
        Ok(STANDARD.encode(self.seal_at(place)?.seal(0, &plain)))
    }

    fn open<T: DeserializeOwned>(&self, place: &str, sealed: &str) -> Result<T, StepError> {
        let sealed = STANDARD.decode(sealed).map_err(|_| unreadable("text"))?;
        let plain = self.seal_at(place)?.open(0, &sealed).ok_or_else(|| unreadable("text"))?;
        serde_json::from_slice(&plain).map_err(|_| unreadable("text"))
    }

    pub(crate) fn seal_person(&self, person: &Person) -> Result<String, StepError> {
        self.seal("person", person)
    }

    /// A customer's message. The same text under the same id gives the same bytes.
    pub(crate) fn seal_message(&self, id: &ExchangeId, text: &str) -> Result<String, StepError> {
        self.seal(&format!("message/{}", id.as_str()), &Plain { text: text.to_owned(), answers: None })
    }

    /// An operator's reply. The same text to the same message gives the same bytes.
    pub(crate) fn seal_reply(&self, answers: Option<&ExchangeId>, text: &str) -> Result<String, StepError> {
        self.seal("reply", &Plain { text: text.to_owned(), answers: answers.cloned() })
    }

    /// The messages of a thread, oldest first.
    pub(crate) fn open_thread(&self, thread: &[Post]) -> Result<Vec<ThreadMessage>, StepError> {
        let shown = |post: &Post| {
            let place = match post.author() {
                Author::Customer => format!("message/{}", post.id().as_str()),
                Author::Operator(_) => "reply".to_owned(),
            };
            let Plain { text, answers } = self.open(&place, post.sealed())?;
            Ok(ThreadMessage {
                id: post.id().clone(),
                author: post.author().clone(),
                at: post.at(),
                text,
                is_unsent: post.is_unsent(),
                answers,
            })
        };
        thread.iter().map(shown).collect()
    }
}

impl Held {
    pub(crate) const fn new(bridge: Versioned<Bridge>, memory: String) -> Self {
        Self { bridge, memory }
    }

    /// The memory in use.
    pub(crate) fn memory(&self) -> &str {
        &self.memory
    }

    /// The key of the accepted Bridge; an error if it is destroyed.
    pub(crate) async fn sealer(&self, keys: &dyn SubjectKeys) -> Result<Sealer, StepError> {
        let erased = || ErrorCode::Erased.because("the memory was erased meanwhile");
        let key = keys.find(&self.memory).await?.ok_or_else(erased)?;
        Ok(Sealer { key, memory: self.memory.clone() })
    }

    /// The messages, oldest first.
    ///
    /// # Errors
    /// [`StepError`]
    pub async fn messages(&self, keys: &dyn SubjectKeys) -> Result<Vec<ThreadMessage>, StepError> {
        let thread = self.bridge.value.thread();
        if thread.is_empty() {
            return Ok(Vec::new());
        }
        self.sealer(keys).await?.open_thread(thread)
    }

    /// The person who accepted the agreement; `None` before an acceptance.
    ///
    /// # Errors
    /// [`StepError`]
    pub async fn person(&self, keys: &dyn SubjectKeys) -> Result<Option<Person>, StepError> {
        let Some(acceptance) = self.bridge.value.acceptance() else { return Ok(None) };
        self.sealer(keys).await?.open("person", acceptance.person()).map(Some)
    }
}
