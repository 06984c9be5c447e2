import { Empty, PageHead } from "../../blocks/blocks.tsx";

const Page = () => (
  <>
    <PageHead title="holder" />
    <Empty title="Being built" />
  </>
);

export default Page;
