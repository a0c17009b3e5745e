function o({model:n,el:e}){let t=n.get("document");return e.textContent=t.title,()=>e.replaceChildren()}export{o as render};
